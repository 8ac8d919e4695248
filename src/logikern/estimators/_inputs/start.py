"""The model at which a search starts: its kernels and variances as given, or estimated from the data."""

import numbers
from dataclasses import fields, replace
from typing import Any

import numpy as np

from logikern.estimators._inputs.arguments import check_positive, suggest
from logikern.estimators._inputs.data import TrainingData, is_precomputed
from logikern.estimators._inputs.weights import weight_unit
from logikern.estimators._parameters import Parameters
from logikern.kernels import KERNELS, DistanceKernel, FunctionKernel, Kernel, Precomputed, leaves
from logikern.model.defaults import default_rate, default_variance, read_shape
from logikern.structure.specification import Specification
from logikern.structure.tying import tie


def start_specification(parameters: Parameters, data: TrainingData) -> Specification:
    """Kernels and variances as given, or estimated from the data.

    If they are learned, all classes share them at first, unless values are given for each class.
    """
    learned = parameters.criterion is not None and (parameters.variance is None or np.ndim(parameters.variance) == 0)
    wanted = "shared" if parameters.grows else parameters.tying
    tie(wanted, data.mixing)  # raises before any work
    tying = tie("shared" if learned else wanted, data.mixing)
    kernel = make_kernel(
        parameters.kernel, _rates(parameters.rate, data), lambda name: default_rate(name, data.points, data.weights)
    )
    if isinstance(parameters.kernel, str):
        kernel = read_shape(kernel, data.points, data.weights)
    else:
        kernel = _with_rates_of_inputs(kernel, data)
    _check_diagonal(kernel, data)
    kernels = (kernel,) * tying.n_kernels
    return Specification(
        kernels,
        _variances(parameters, kernel, data, tying.n_variances),
        float(parameters.bias_variance),
        tying,
        data.mixing,
    )


def _rates(rate: Any, data: TrainingData) -> Any:
    """The rates of inputs; the inputs of a column share the rate given for it."""
    encoder = data.encoder
    if encoder is None or np.ndim(rate) != 1 or len(rate) != encoder.n_columns:
        return rate
    return [rate[place] for place in encoder.columns]


def _with_rates_of_inputs(kernel: Kernel, data: TrainingData) -> Kernel:
    """The same kernel with rates of inputs in place of rates of columns."""
    parts = {field.name: getattr(kernel, field.name) for field in fields(kernel)}  # type: ignore[arg-type]
    parts = {name: _with_rates_of_inputs(part, data) for name, part in parts.items() if isinstance(part, Kernel)}
    if parts:
        return replace(kernel, **parts)  # type: ignore[type-var]
    if not isinstance(kernel, DistanceKernel) or kernel.columns is not None:
        return kernel
    rates = _rates(kernel.rate, data)
    return kernel if rates is kernel.rate else replace(kernel, rate=tuple(rates))


def _check_diagonal(kernel: Kernel, data: TrainingData) -> None:
    """Detect invalid kernels, and inputs too large for them, from the diagonal."""
    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = np.asarray(kernel.diagonal(data.points), dtype=float)
    wrong = np.flatnonzero(~((diagonal >= -1e-8 * diagonal.max(initial=0.0)) & (diagonal < np.inf)))
    if wrong.size:
        raise ValueError(
            f"A kernel must be finite and positive semidefinite, but k(x, x) is {diagonal[wrong[0]]:g} for row "
            f"{data.kept[wrong[0]]} of `X`. Scale the inputs, or correct the kernel."
        )


def _variances(parameters: Parameters, kernel: Any, data: TrainingData, n_variances: int) -> tuple[float, ...]:
    given = parameters.variance
    if given is None:
        whole = default_variance(kernel, data.points, data.weights)
        # A search starts from the same model, whatever the unit of small weights is.
        unit = 1.0 if parameters.criterion is None else weight_unit(data.weights)
        return (whole / (unit * _path_length(data)),) * n_variances
    values = (given,) * n_variances if isinstance(given, numbers.Real) else parse_numbers("variance", given)
    if len(values) != n_variances:
        raise ValueError(
            f"`variance` must be one number, or one number for each variance of the model ({n_variances} with "
            f"tying={parameters.tying!r}), but has {len(values)} values."
        )
    for value in values:
        check_positive("variance", value)
    return tuple(map(float, values))


def _path_length(data: TrainingData) -> float:
    """Mean variance of class functions if latent functions have variance one: in a tree, the number on a path."""
    return float(data.mixing.forward_diagonal(np.ones((data.mixing.n_latent, 1))).mean())


def parse_numbers(argument: str, values: Any) -> tuple[float, ...]:
    """A tuple of numbers from any sequence."""
    try:
        if isinstance(values, str | dict | set):
            raise TypeError
        return tuple(float(value) for value in values)
    except (TypeError, ValueError):
        raise ValueError(f"`{argument}` must be a number or a sequence of numbers, but is {values!r}.") from None


def make_kernel(kernel: Any, rate: Any, default_rate: Any) -> Kernel:
    """The kernel that a name, a function or an object stands for; `default_rate` maps its name to a rate."""
    if isinstance(kernel, str) and kernel in KERNELS:
        kind: Any = KERNELS[kernel]
        if "rate" not in kind.__dataclass_fields__:
            return kind() if rate is None else _refuse_rate(kernel)
        value = default_rate(kernel) if rate is None else rate
        if not isinstance(value, numbers.Real):
            if not issubclass(kind, DistanceKernel):
                raise ValueError(f"`rate` must be one number for kernel={kernel!r}, but is {rate!r}.")
            value = parse_numbers("rate", value)
        return kind(rate=value)
    made = _own_kernel(kernel)
    return made if rate is None else _refuse_rate(kernel)


def _own_kernel(kernel: Any) -> Kernel:
    """The kernel that a function, an object or "precomputed" stands for."""
    if isinstance(kernel, Kernel):
        if is_precomputed(kernel) and not all(isinstance(leaf, Precomputed) for leaf in leaves(kernel)):
            raise ValueError(
                f"`kernel` must not mix kernels on inputs with Precomputed, but is {kernel!r}: `X` cannot hold both "
                "inputs and kernel values. Precompute the other kernels as well, and pass the combined matrix."
            )
        return kernel
    if is_precomputed(kernel):
        return Precomputed()
    if callable(kernel) and not (isinstance(kernel, type) and issubclass(kernel, Kernel)):
        return FunctionKernel(kernel)
    raise ValueError(
        f"`kernel` must be one of {['auto', *KERNELS, 'precomputed']}, a Kernel or a function of two points, "
        f"but is {kernel!r}.{suggest(kernel, ['auto', *KERNELS, 'precomputed'])}"
        + (f" Pass {kernel.__name__}() instead of the class." if isinstance(kernel, type) else "")
    )


def _refuse_rate(kernel: Any) -> Kernel:
    raise ValueError(
        f"`rate` is a parameter of named kernels that are based on distances, but `kernel` is {kernel!r}. "
        "Leave `rate` at None, and give the parameters to the Kernel object itself."
    )
