"""A quasi-Newton method whose steps are bounded and whose trials may fail."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Array

FIRST_RADIUS = 1.0
LARGEST_RADIUS = 2.5
SUFFICIENT_DECREASE = 1e-4
SMALLEST_RADIUS = 1e-3


class Trial(NamedTuple):
    """Value and gradient at a point; a trial that is not usable has neither."""

    value: float
    gradient: Array
    usable: bool


@dataclass(frozen=True, eq=False)
class Position:
    """The state of a search."""

    point: Array  # (p,)
    value: float
    gradient: Array  # (p,)
    inverse_hessian: Array  # (p, p)
    radius: float  # bound on the change of any parameter in the next step
    scaled: bool = False  # whether the inverse Hessian has been scaled to the curvature
    small_steps: int = 0  # successive steps with a negligible decrease


def begin(point: Array, trial: Trial, inverse_hessian: Array | None = None, radius: float = FIRST_RADIUS) -> Position:
    """The state at a first usable trial; without a Hessian, a step moves the steepest parameter by the radius."""
    if inverse_hessian is not None:
        return Position(point, trial.value, trial.gradient, inverse_hessian, radius, scaled=True)
    steepest = max(float(np.abs(trial.gradient).max(initial=0.0)), 1e-12)
    return Position(point, trial.value, trial.gradient, np.eye(len(point)) * (radius / steepest), radius)


def advance(
    position: Position,
    evaluate: Callable[[Array], Trial],
    bounds: tuple[Array, Array],
    worth: float,
) -> Position:
    """Make one trial. It is accepted if it lowers the value enough; otherwise it brackets the next trial.

    A step is bounded in every parameter, so that the first step cannot leave the plausible range. A trial that is
    not usable shrinks the bound (the right bracket of Seeger 2008, sec. 4).
    A decrease below `worth` counts as small.
    """
    step = _bounded_step(position, bounds)
    slope = float(position.gradient @ step)
    trial = evaluate(position.point + step)
    if not trial.usable:
        return replace(position, radius=0.25 * float(np.abs(step).max(initial=0.0)))
    learned = _learn(position, step, trial.gradient - position.gradient)
    decrease = position.value - trial.value
    length = float(np.abs(step).max(initial=0.0))
    if decrease < -SUFFICIENT_DECREASE * slope:
        # The parabola through both values and the slope has its minimum at this fraction of the step.
        part = np.clip(-slope / (2 * (-decrease - slope)), 0.1, 0.5)
        return replace(learned, radius=part * length, small_steps=position.small_steps + (abs(decrease) < worth))
    good = decrease > -0.25 * slope
    radius = min(LARGEST_RADIUS, 2 * max(length, 0.5 * position.radius)) if good else position.radius
    return replace(
        learned,
        point=position.point + step,
        value=trial.value,
        gradient=trial.gradient,
        radius=radius,
        small_steps=position.small_steps + 1 if decrease < worth else 0,
    )


def finished(position: Position, bounds: tuple[Array, Array], worth: float, small_steps: int = 2) -> bool:
    """Whether the predicted gain of another step is too small."""
    step = _bounded_step(position, bounds)
    expected = -0.5 * float(position.gradient @ step)
    return expected < 0.5 * worth or position.small_steps >= small_steps or position.radius < SMALLEST_RADIUS


def _bounded_step(position: Position, bounds: tuple[Array, Array]) -> Array:
    gradient = position.gradient.copy()
    at_low = (position.point <= bounds[0]) & (gradient > 0)
    at_high = (position.point >= bounds[1]) & (gradient < 0)
    gradient[at_low | at_high] = 0.0
    step = -position.inverse_hessian @ gradient
    step[at_low | at_high] = 0.0
    step *= min(1.0, position.radius / max(float(np.abs(step).max(initial=0.0)), 1e-300))
    return np.clip(position.point + step, *bounds) - position.point


def _learn(position: Position, step: Array, change: Array) -> Position:
    """The update of Broyden, Fletcher, Goldfarb and Shanno, where the curvature along the step is positive."""
    curvature = float(step @ change)
    if curvature <= 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return position
    inverse = position.inverse_hessian
    if not position.scaled:
        inverse = np.eye(len(step)) * (curvature / float(change @ change))
    left = np.eye(len(step)) - np.outer(step, change) / curvature
    return replace(
        position,
        inverse_hessian=left @ inverse @ left.T + np.outer(step, step) / curvature,
        scaled=True,
    )
