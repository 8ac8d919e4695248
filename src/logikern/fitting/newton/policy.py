"""Numbers that decide how Newton's method proceeds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NewtonPolicy:
    """Accuracies of directions, and when to refresh, to give up or to continue from a smaller covariance."""

    # Fraction of the quadratic model's decrease that a direction may miss, times min(1, gradient norm).
    missed_gain: float = 0.03
    # Smallest residual of a direction, in units of the tolerance: a smaller one does not help.
    linear_residual: float = 0.3
    # Residual of the step from given latents, in units of the gradient. That step is accurate to second order, which
    # a rough solve would waste.
    start_residual: float = 0.01
    # Residual of a response, in units of its right side. Without it the image of a response may be wrong where K~ has
    # large eigenvalues.
    response_residual: float = 0.01
    # Smallest prior variance that the first guess of a direction assumes.
    smallest_variance: float = 1e-12
    # A direction whose image is below this, in units of the latents, is in the null space of K~: take the full step.
    blind_image: float = 1e-12
    # Gradient norm below which single precision recomputes latents once, to remove the rounding of the long first
    # steps before the last ones.
    refresh_below: float = 0.1
    # A step no longer than this has stalled.
    no_step: float = 1e-3
    # Products for the first direction from zero, where the curvature differs from later ones.
    first_products: int = 40
    # Switch to continuation if one of the `early_steps` is no longer than `short_step`. The first step may be short,
    # unless its direction took all `first_products`.
    short_step: float = 0.06
    early_steps: int = 3
    # The smaller covariance that continuation begins with, and the tolerance there.
    continuation_factor: float = 1 / 8
    continuation_tolerance: float = 0.1
    # Tolerance of the fit to fully labelled points, from which coarse labels are first completed.
    labelled_tolerance: float = 0.01


POLICY = NewtonPolicy()
