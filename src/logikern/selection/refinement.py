"""The same model with more or other hyperparameters: finer tyings, rates of columns, more points."""

from dataclasses import replace

import numpy as np

from logikern.kernels.base import Kernel
from logikern.kernels.parameters import RATES
from logikern.kernels.stationary import DistanceKernel
from logikern.selection.policy import USUAL
from logikern.structure.specification import Specification
from logikern.structure.tying import Tying


def shift_variances(specification: Specification, shift: float) -> Specification:
    """The same model with all log variances shifted."""
    values = specification.log_parameters
    values[-1 - len(specification.variances) : -1] += shift
    return specification.with_log_parameters(values)


def extrapolate_rates(coarse: Specification, fine: Specification, sizes: tuple[int, int, int]) -> Specification:
    """The fine model with its rates extrapolated to all points.

    More points resolve finer structure, so the best rates grow as a power of their number. The power is estimated
    from two searches, and is the same for all rates: estimates for single classes are too noisy.

    Parameters
    ----------
    coarse, fine : Specification
        The same model, learned on few and on more points.
    sizes : tuple of int
        Number of points of the coarse model, of the fine model, and in total.
    """
    few, more, total = np.log(sizes)
    is_rate = np.array([role in RATES for kernel in fine.kernels for role in kernel.parameter_roles], dtype=bool)
    if not is_rate.any() or total <= more:
        return fine
    values = fine.log_parameters
    moved = (values - coarse.log_parameters)[: len(is_rate)][is_rate]
    power = np.clip(moved.mean() / (more - few), 0.0, USUAL.largest_power)
    values[: len(is_rate)][is_rate] += power * min(total - more, USUAL.longest_lever * (more - few))
    return fine.with_log_parameters(values)


def spread(specification: Specification, tying: Tying) -> Specification:
    """The same functions under a finer tying: each class keeps its kernel and its variance."""
    kernels: list[Kernel | None] = [None] * tying.n_kernels
    variances = [1.0] * tying.n_variances
    for number, (kernel, variance) in enumerate(zip(tying.kernel_of, tying.variance_of, strict=True)):
        kernels[kernel] = specification.kernels[specification.tying.kernel_of[number]]
        variances[variance] = specification.variances[specification.tying.variance_of[number]]
    return replace(
        specification,
        kernels=tuple(kernel for kernel in kernels if kernel is not None),
        variances=tuple(variances),
        tying=tying,
    )


def with_relevance(
    specification: Specification, n_inputs: int, columns: tuple[int, ...] | None = None
) -> Specification:
    """The same kernels with a rate for each input, or for each column that several inputs encode.

    `columns` has the column of every input. Columns that a kernel names take precedence.
    """
    kernels = tuple(
        kernel.spread_rate(n_inputs, columns)
        for kernel in specification.kernels
        if isinstance(kernel, DistanceKernel) and isinstance(kernel.rate, float)
    )
    return replace(specification, kernels=kernels)


def has_single_rates(specification: Specification) -> bool:
    return all(
        isinstance(kernel, DistanceKernel) and RATES[0] in kernel.parameter_roles for kernel in specification.kernels
    )
