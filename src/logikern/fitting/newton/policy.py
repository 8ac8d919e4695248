"""Numbers that decide how Newton's method proceeds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NewtonPolicy:
    """Accuracies of directions, and when to refresh, to give up or to continue from a smaller covariance.

    Parameters
    ----------
    missed_gain : float, default=0.03
        Part of the quadratic model's decrease that a direction may miss, times min(1, gradient norm).
    linear_residual : float, default=0.3
        Smallest residual of a direction, in units of the tolerance: a smaller one would be lost effort.
    start_residual : float, default=0.01
        Residual of the step from given latents, in units of the gradient. That step lands within second order of
        the optimum, which a rough solve would waste.
    response_residual : float, default=0.01
        Residual of a response, in units of its right side. Without it the image of a response may be wrong where
        K~ has large eigenvalues.
    smallest_variance : float, default=1e-12
        Lower bound on the prior variance from which a first guess of a direction is made.
    blind_image : float, default=1e-12
        A direction whose image is smaller, in units of the latents, is invisible to the kernel: take the full step.
    refresh_below : float, default=0.1
        Gradient norm below which single precision recomputes latents once, to remove the rounding of the long
        first steps before the last ones.
    no_step : float, default=1e-3
        A step no longer than this has stalled.
    first_products : int, default=40
        Products for the first direction from zero, whose curvature is unlike that of later ones.
    short_step, early_steps : float, int, default=0.06, 3
        If a step length up to this step stays below `short_step`, switch to continuation. The first step may be
        short, unless its direction took all `first_products`.
    continuation_factor, continuation_tolerance : float, default=1/8, 0.1
        The smaller covariance that continuation begins with, and the tolerance there.
    labelled_tolerance : float, default=0.01
        Tolerance of the fit to fully labelled points, from which coarse labels are first completed.
    """

    missed_gain: float = 0.03
    linear_residual: float = 0.3
    start_residual: float = 0.01
    response_residual: float = 0.01
    smallest_variance: float = 1e-12
    blind_image: float = 1e-12
    refresh_below: float = 0.1
    no_step: float = 1e-3
    first_products: int = 40
    short_step: float = 0.06
    early_steps: int = 3
    continuation_factor: float = 1 / 8
    continuation_tolerance: float = 0.1
    labelled_tolerance: float = 0.01


POLICY = NewtonPolicy()
