"""Errors before and after a fit, and warnings about its outcome."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from logikern.estimators._callbacks import WRAPPER_FRAMES
from logikern.estimators._inputs.data import TrainingData
from logikern.fitting.pairwise import policy as pairwise
from logikern.fitting.problem import FitResult
from logikern.kernels import FunctionKernel, Kernel, Precomputed, leaves
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.outcome import Outcome

# Number of points whose kernel matrix is checked: for a function, which is slow, and for a given matrix.
FEW_POINTS, SOME_POINTS = 100, 500

_ADVICE = {
    Outcome.ROUNDING: "Use precision='double', or a smaller variance.",
    Outcome.OUT_OF_STEPS: "Raise `max_iter`, or use a smaller variance.",
    Outcome.OUT_OF_PRODUCTS: "Use a smaller variance, or solver='exact' if there are few rows.",
    Outcome.INTERRUPTED: "Fit again for better probabilities.",
    Outcome.STALLED: "Check that the kernel is positive semidefinite, or use precision='double'.",
    Outcome.INDEFINITE: "Correct the kernel, or add a small value to the diagonal of its matrix.",
    Outcome.NOT_FINITE: "Check that the kernel returns finite values, and that inputs, weights and variances "
    "are not extremely large.",
}
# The same for coefficients and latents in single precision, where more precise products would not help.
_ADVICE_IN_SINGLE = {
    Outcome.ROUNDING: "Use state_precision='double', or a smaller variance.",
    Outcome.STALLED: "Use state_precision='double', and check that the kernel is positive semidefinite.",
}


def outcome(result: FitResult, wanted: float) -> Outcome:
    """The outcome, judged by the user's tolerance; the exact solver has a smaller tolerance of its own."""
    return Outcome.CONVERGED if result.gradient_norm.max() <= wanted else result.outcome


def refuse_failure(result: FitResult, kernel: Kernel, points: Any) -> None:
    """Raise an error if the fit is not finite, or if it failed with a user's kernel that is indefinite."""
    if not np.isfinite(result.dual).all():
        raise ValueError(f"{Outcome.NOT_FINITE.value} {_ADVICE[Outcome.NOT_FINITE]}")
    if result.outcome.converged or not any(isinstance(leaf, Precomputed | FunctionKernel) for leaf in leaves(kernel)):
        return
    refuse_indefinite(kernel, points, SOME_POINTS)


def refuse_before(solver: Any, kernel: Kernel, data: TrainingData) -> None:
    """Raise an error for settings that would otherwise fail only after all the work is done."""
    if solver == "smo" and not isinstance(data.likelihood, Softmax):
        raise ValueError(
            "`solver` is 'smo', but some labels are inner nodes of the hierarchy, which this solver does not "
            "support. Use solver='newton'."
        )
    if solver == "smo" and len(data.classes) ** 2 > pairwise.POLICY.most_couplings:
        raise ValueError(
            f"`solver` is 'smo', which stores a coupling for every pair of classes, but {len(data.classes)} classes "
            f"exceed the limit of {pairwise.POLICY.most_couplings} couplings. Use solver='newton'."
        )
    given = [type(leaf) for leaf in leaves(kernel)]
    if Precomputed in given or FunctionKernel in given:
        # Solvers with dense factors and pairwise coordinate ascent would return a result for an indefinite matrix.
        refuse_indefinite(kernel, data.points, FEW_POINTS if FunctionKernel in given else SOME_POINTS)


def refuse_indefinite(kernel: Kernel, points: Any, most: int) -> None:
    """Raise an error if a user's kernel is indefinite on a sample of at most `most` points."""
    some = points[np.linspace(0, points.shape[0] - 1, min(points.shape[0], most)).astype(int)]
    matrix = kernel(some, some).astype(float)
    if not np.isfinite(matrix).all():
        raise ValueError(f"{Outcome.NOT_FINITE.value} {_ADVICE[Outcome.NOT_FINITE]}")
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] < -1e-6 * abs(eigenvalues[-1]):
        raise ValueError(
            f"A kernel must be positive semidefinite, but the matrix of {len(eigenvalues)} training points has "
            f"eigenvalues from {eigenvalues[0]:.3g} to {eigenvalues[-1]:.3g}. Correct the kernel, or add "
            f"{-eigenvalues[0]:.3g} to its diagonal."
        )


def warn_unless_converged(
    ended: Outcome, result: FitResult, wanted: float, wrapper_frames: int = WRAPPER_FRAMES
) -> None:
    """One warning, with the outcome's sentence and advice."""
    if not ended.converged:
        advice = _ADVICE | (_ADVICE_IN_SINGLE if result.dual.dtype == np.float32 else {})
        warnings.warn(
            f"{ended.value} After {result.n_steps} steps the gradient norm is "
            f"{result.gradient_norm.max():.1e} (tolerance {wanted:.0e}). {advice[ended]}",
            ConvergenceWarning,
            stacklevel=3 + wrapper_frames,
        )


def warn_search(reason: str) -> None:
    """One warning about a search that ended early."""
    warnings.warn(
        f"The search for hyperparameters ended early: {reason}.", ConvergenceWarning, stacklevel=4 + WRAPPER_FRAMES
    )


def warn_partitions(n_fitted: int, n_planned: int) -> None:
    """One warning if an interruption has left out partitions into neighbourhoods."""
    if n_fitted < n_planned:
        warnings.warn(
            f"The final fit was interrupted after {n_fitted} of {n_planned} partitions into neighbourhoods. Only "
            "these partitions are used.",
            ConvergenceWarning,
            stacklevel=4 + WRAPPER_FRAMES,
        )
