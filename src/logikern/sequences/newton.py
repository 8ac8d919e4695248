"""Newton's method for labelled chains, from products with the covariance and with the curvature."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from logikern.numerics.line_search import Slope, convex_step_lengths
from logikern.numerics.outcome import Array, NewtonStep, Outcome
from logikern.sequences.likelihood import ChainLikelihood, FieldCovariance, Prediction


@dataclass(frozen=True)
class ChainPolicy:
    """Accuracies and budgets of a fit."""

    # A direction is accurate enough if, at the rate of the last product, as many products again would gain less than
    # this fraction of the gain so far (Nash & Sofer 1990). Far from the optimum, a better minimum of the quadratic
    # model is not a better step: on OCR words, 20 products for a direction lowered the loss more than 40 or 160.
    # The fraction then follows the error of the quadratic model, and shrinks at most by `shrinkage` at a time. A fit
    # to one fold takes 358 products from zero, and 686 if the residual of each system decides.
    last_gain: float = 0.25
    shrinkage: float = 2.0
    # Products for the first direction, before the length of a step is known.
    first_products: int = 10
    # Residual of the adjoint of a criterion, in units of its right side, in the norm of the covariance. On OCR words,
    # the gradient then has an error of one per cent, and the first six digits of the value do not change.
    adjoint_residual: float = 1e-2
    # The same for the first step, from given latents. With both residuals, an evaluation of three folds takes 405
    # products, and 463 with residuals that are ten times smaller.
    start_residual: float = 0.1
    # Largest slope that a line search may leave, relative to its start.
    line_accuracy: float = 0.3
    # A direction may be as long as the last step, and longer by `growth` after a long step. Far from the optimum the
    # quadratic model holds for short steps only, and few products suffice for those (Steihaug 1983). On OCR words it
    # takes 430 products instead of 860, with accurate directions.
    growth: float = 4.0
    long_step: float = 0.75
    shortest: float = 1e-3  # smaller lengths do not shorten directions further
    # Products for one direction, and for a fit.
    direction_products: int = 500
    products: int = 5000


POLICY = ChainPolicy()


class Solved(NamedTuple):
    """x = (I + W K)^-1 c, its image K x, the number of products, and whether the solve converged."""

    value: Array
    image: Array
    n_products: int
    converged: bool


class Progress(NamedTuple):
    """The progress of a solve of (I + W K) x = c with the residual r.

    `square` and `first` are r' K r now and at the start, and `gained` is the decrease of x' K ((I + W K) x / 2 - c).
    """

    square: float
    first: float
    gained: float = 0.0
    gained_last: float = 0.0  # by the last step
    n_steps: int = 0

    def after(self, gain: float, square: float) -> "Progress":
        """The progress after one more step."""
        return Progress(square, self.first, self.gained + gain, gain, self.n_steps + 1)


@dataclass(frozen=True, eq=False)
class NewtonSystem:
    """I + W K at one prediction, where K is the covariance of fields and W the curvature.

    The system is symmetric in the metric of K, <x, y> = x' K y, so conjugate gradients take one product with K and
    one with W per step, and no factor of W is needed.
    """

    likelihood: ChainLikelihood
    covariance: FieldCovariance
    found: Prediction

    def solve(
        self, constant: Array, is_enough: Callable[[Progress], bool], most: int, radius: float = np.inf
    ) -> Solved:
        """x = (I + W K)^-1 c for a field c, and K x; or an estimate of x whose norm is just above the radius."""
        value, image, residual = np.zeros_like(constant), np.zeros_like(constant), constant.copy()
        residual_image, n_products = self.covariance.matmul(residual), 1
        direction, direction_image = residual.copy(), residual_image.copy()
        square = float(np.vdot(residual, residual_image))
        now = Progress(square, square)
        while True:
            if is_enough(now):
                return self._finish(Solved(value, image, n_products, True), residual, residual_image)
            if n_products >= most or (value.any() and float(np.vdot(value, image)) > radius**2):
                return Solved(value, image, n_products, False)
            product = direction + self.likelihood.curve(self.found, direction_image)
            step = now.square / float(np.vdot(direction_image, product))
            value += step * direction
            image += step * direction_image
            residual -= step * product
            residual_image = self.covariance.matmul(residual)
            n_products += 1
            # Rounding may leave a residual whose square is not positive.
            square = max(float(np.vdot(residual, residual_image)), 0.0)
            direction = residual + (square / now.square) * direction
            direction_image = residual_image + (square / now.square) * direction_image
            now = now.after(0.5 * step * now.square, square)

    def _finish(self, solved: Solved, residual: Array, image: Array) -> Solved:
        """Add the residual r to the solution, unless the new residual - W K r is larger.

        The new residual vanishes in the null space of K, which the metric of the iterations does not see.
        """
        if float(np.vdot(image, self.likelihood.curve(self.found, image) - residual)) > 0.0:
            return solved
        return solved._replace(value=solved.value + residual, image=solved.image + image)

    def respond(self, constant: Array, accuracy: float, policy: ChainPolicy) -> Solved:
        """`solve` with a residual that is small in units of the constant, in the norm of K."""
        return self.solve(constant, lambda now: now.square <= accuracy**2 * now.first, policy.direction_products)


@dataclass(frozen=True, eq=False)
class ChainFit:
    """A fit: dual and latent fields, the prediction there, and how the fit ended."""

    dual: Array
    latent: Array
    found: Prediction
    gradient_norm: float
    outcome: Outcome
    n_products: int
    trace: tuple[NewtonStep, ...]


def fit_chains(
    likelihood: ChainLikelihood,
    covariance: FieldCovariance,
    tolerance: float,
    max_steps: int,
    start: Array | None = None,
    callback: Callable[[NewtonStep], None] = lambda step: None,
    policy: ChainPolicy = POLICY,
    keep_interrupted: bool = False,
    first_dual: Array | None = None,
) -> ChainFit:
    """Minimise loss(f) + dual' K dual / 2 with f = K dual; both terms are convex.

    The fit begins at zero, at a given dual field, or with the Newton step from given latents (`start`).

    The functional gradient is rho = dual + gradient of the loss, and the Newton step is -(I + W K)^-1 rho. An
    interruption raises an error, unless `keep_interrupted` is True and the fit has taken a step.
    """
    descent = _Descent(likelihood, covariance, tolerance, max_steps, callback, policy)
    try:
        return descent.run(start, first_dual)
    except KeyboardInterrupt:
        if not keep_interrupted or not descent.trace or not descent.dual.any():
            raise
        return descent.interrupted()


@dataclass(eq=False)
class _Descent:
    """The state of a fit."""

    likelihood: ChainLikelihood
    covariance: FieldCovariance
    tolerance: float
    max_steps: int
    callback: Callable[[NewtonStep], None]
    policy: ChainPolicy
    dual: Array = field(init=False)
    latent: Array = field(init=False)
    found: Prediction = field(init=False)
    gradient: Array = field(init=False)  # rho
    n_products: int = field(init=False, default=0)
    length: float = field(init=False, default=1.0)  # of the last step
    part: float = field(init=False)  # of its gain that the last products of a direction may add
    radius: float = field(init=False, default=np.inf)  # norm of the next direction at which its solve ends
    fresh: bool = field(init=False, default=True)  # whether the latent field was computed from the dual field
    refreshed_at: float = field(init=False, default=np.inf)  # gradient norm when it was last recomputed
    trace: list[NewtonStep] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.part = self.policy.last_gain

    def run(self, start: Array | None, first_dual: Array | None) -> ChainFit:
        """Step until the gradient is below the tolerance, or until further steps would not help."""
        if start is not None:
            self._begin(start)
        elif first_dual is not None:
            self.dual, self.n_products = first_dual, 1
            self._look(self.covariance.matmul(first_dual))
            self.fresh = False
        else:
            self.dual = np.zeros(self.likelihood.chains.shape)
            self._look(np.zeros_like(self.dual))
        for step in itertools.count():
            outcome = self._judge(step)
            self._tell(step)
            if outcome is not None:
                return self._result(outcome)
            self._advance()
        raise AssertionError

    def interrupted(self) -> ChainFit:
        """The current fit, with latents that belong to its dual wherever it was interrupted."""
        self._refresh()
        return self._result(Outcome.INTERRUPTED)

    def _result(self, outcome: Outcome) -> ChainFit:
        found = (self.dual, self.latent, self.found, self.norm, outcome, self.n_products)
        return ChainFit(*found, tuple(self.trace))

    @property
    def norm(self) -> float:
        """Largest absolute component of the functional gradient."""
        return float(np.abs(self.gradient).max())

    def _begin(self, latent: Array) -> None:
        """The Newton step from any latents f: dual = (I + W K)^-1 (W f - gradient)."""
        found = self.likelihood.infer(latent)
        constant = self.likelihood.curve(found, latent) - self.likelihood.gradient(found)
        system = NewtonSystem(self.likelihood, self.covariance, found)
        solved = system.respond(constant, self.policy.start_residual, self.policy)
        self.dual, self.n_products, self.fresh = solved.value, solved.n_products, False
        self._look(solved.image)

    def _look(self, latent: Array, found: Prediction | None = None) -> None:
        self.latent = latent
        self.found = self.likelihood.infer(latent) if found is None else found
        self.gradient = self.dual + self.likelihood.gradient(self.found)

    def _refresh(self) -> None:
        """Recompute the latent field in double precision."""
        self._look(self.covariance.accurate_matmul(self.dual))
        self.n_products += 1
        self.fresh = True

    def _judge(self, step: int) -> Outcome | None:
        """The outcome of a fit that is done, else None."""
        if not np.isfinite(self.norm):
            return Outcome.NOT_FINITE
        ended = self._budget(step)
        if not self.fresh and (self.norm <= self.tolerance or ended):
            self._refresh()
            if self.norm > max(self.tolerance, 0.5 * self.refreshed_at):
                return ended or Outcome.ROUNDING
            self.refreshed_at = self.norm
        if self.norm <= self.tolerance:
            return Outcome.CONVERGED
        return ended or (None if self.length > 0 else Outcome.STALLED)

    def _budget(self, step: int) -> Outcome | None:
        if step >= self.max_steps:
            return Outcome.OUT_OF_STEPS
        return Outcome.OUT_OF_PRODUCTS if self.n_products >= self.policy.products else None

    def _tell(self, step: int) -> None:
        penalty = 0.5 * float(np.vdot(self.dual, self.latent))
        loss = self.likelihood.loss(self.found, self.latent) + penalty
        self.trace.append(NewtonStep(step, loss, self.norm, self.length, self.n_products))
        self.callback(self.trace[-1])

    def _advance(self) -> None:
        policy = self.policy
        # Gains are quadratic in the gradient, which need not fall far below the tolerance.
        part = max(self.part, (0.5 * self.tolerance / self.norm) ** 2)
        system = NewtonSystem(self.likelihood, self.covariance, self.found)
        solved = system.solve(
            -self.gradient,
            lambda now: now.square == 0.0 or (now.n_steps > 1 and now.n_steps * now.gained_last <= part * now.gained),
            policy.direction_products if self.trace[-1].step else policy.first_products,
            self.radius,
        )
        self.n_products += solved.n_products
        self._move(solved.value, solved.image)

    def _move(self, direction: Array, image: Array) -> None:
        """Take the best step along a direction, judged by slopes: near the optimum, values agree in all digits."""
        linear, quadratic = float(np.vdot(self.dual, image)), float(np.vdot(direction, image))
        tried: dict[float, Prediction] = {0.0: self.found}
        slopes: dict[float, float] = {}

        def slope_at(lengths: Array) -> Slope:
            length = float(lengths[0])
            if length not in tried:
                tried.clear()  # each holds an array (n, C, C)
                tried[length] = self.likelihood.infer(self.latent + length * image)
            first = float(np.vdot(self.likelihood.gradient(tried[length]), image)) + linear + length * quadratic
            second = float(np.vdot(image, self.likelihood.curve(tried[length], image))) + quadratic
            slopes[length] = first
            return Slope(np.array([first]), np.array([second]))

        self.length = float(convex_step_lengths(slope_at, 1, self.policy.line_accuracy)[0])
        self._judge_model(float(np.vdot(self.gradient, image)), slopes.get(self.length))
        if self.length == 0.0 and np.abs(self.gradient + direction).max() < self.norm:
            # The direction lies in the null space of K, where the loss is constant and the full step is exact.
            self.length = 1.0
        growth = self.policy.growth if self.length > self.policy.long_step else 1.0
        self.radius = growth * max(self.length, self.policy.shortest) * max(quadratic, 0.0) ** 0.5
        self.dual = self.dual + self.length * direction
        self.fresh = False
        self._look(self.latent + self.length * image, tried.get(self.length))

    def _judge_model(self, first: float, last: float | None) -> None:
        """Set how accurate the next direction is, from the slopes at both ends of a step."""
        if last is not None and first < 0.0:
            error = abs(last / first - (1.0 - self.length))
            self.part = max(min(self.policy.last_gain, error), self.part / self.policy.shrinkage)
