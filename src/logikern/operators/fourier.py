"""Smooth kernels on up to three inputs: products through Fourier modes, by non-uniform FFT.

K ~ Phi diag(w) Phi*, where Phi_ij = exp(i omega_j x_i) on a lattice of frequencies, and w_j is the spectral density
there times the volume of a cell: the trapezoidal rule for the Fourier integral of the kernel (Barnett, Greengard &
Rachh 2023). A product is a transform of type 1, a pass over the modes, and a transform of type 2.
"""

import importlib.util
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtri, fdtri, gammaln

from logikern.kernels.base import Kernel
from logikern.kernels.gaussian import Gaussian
from logikern.kernels.inputs import scale_inputs
from logikern.kernels.matern import Matern32, Matern52
from logikern.kernels.stationary import Stationary
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import even_slices, for_each, n_threads
from logikern.operators.base import KernelOperator, kernel_rows
from logikern.operators.sparse import has_near_pairs, reach


@dataclass(frozen=True)
class Spectrum:
    """The spectral density of a kernel at rate one: a Student t, or a normal density for infinite smoothness.

    Parameters
    ----------
    smoothness : float
        nu of the Matern kernels: a Student t with 2 nu degrees of freedom.
    tolerance : float
        Largest error of a kernel value. Modes for a tolerance eps grow as log(1 / eps)^(d / 2) for the Gaussian, but
        as eps^(-d / (2 nu)) for others.
    """

    smoothness: float
    tolerance: float

    def cutoff(self, n_inputs: int, missed: float) -> float:
        """Norm of omega beyond which the density has the mass `missed`."""
        if math.isinf(self.smoothness):
            return math.sqrt(chdtri(n_inputs, missed))
        return math.sqrt(n_inputs * fdtri(n_inputs, 2.0 * self.smoothness, 1.0 - missed))

    def density(self, squared: Array, n_inputs: int) -> Array:
        """The density where |omega|^2 has these values."""
        if math.isinf(self.smoothness):
            return np.exp(-0.5 * squared) / (2.0 * math.pi) ** (0.5 * n_inputs)
        freedom, power = 2.0 * self.smoothness, self.smoothness + 0.5 * n_inputs
        scale = math.exp(gammaln(power) - gammaln(self.smoothness)) / (freedom * math.pi) ** (0.5 * n_inputs)
        return scale * (1.0 + squared / freedom) ** -power

    def fall(self, squared: Array, n_inputs: int) -> Array:
        """-d log density / d |omega|^2."""
        if math.isinf(self.smoothness):
            return np.full(squared.shape, 0.5)
        return (self.smoothness + 0.5 * n_inputs) / (2.0 * self.smoothness + squared)


SPECTRA: dict[type[Kernel], Spectrum] = {
    Gaussian: Spectrum(math.inf, 1e-9),
    Matern52: Spectrum(2.5, 1e-7),
    Matern32: Spectrum(1.5, 1e-6),
}


@dataclass(frozen=True)
class FourierPolicy:
    """Limits of products through Fourier modes, and how their error is divided."""

    # The number of modes grows exponentially with the number of inputs; a Gaussian of length scale 1/10 of the range
    # has 15 thousand modes in two dimensions and 2 million in three.
    most_inputs: int = 3
    # Shares of the tolerance for images of the points, for missing frequencies, and for the transforms. The rest is
    # for images and frequencies beyond the nearest ones.
    images: float = 0.25
    missed: float = 0.25
    transforms: float = 0.05
    # Points of the transform's own grid for each mode and input.
    oversampling: float = 2.0
    # Points and modes for each thread of a transform. For fewer, threads wait for each other longer than they work:
    # 16,000 points took 120 ms with two threads on a busy machine, and 4 ms with one.
    points_per_thread: int = 100_000
    # Number of kernel values that tiles recompute and multiply in the time that one point or one mode takes.
    values_per_mode: float = 250.0


POLICY = FourierPolicy()


@dataclass(frozen=True, eq=False)
class Lattice:
    """Frequencies omega = spacing * j, |j| <= largest, for points that are scaled to rate one and centred.

    Parameters
    ----------
    spacings : array of shape (d,)
    largest : tuple of int
        Largest |j| of every input.
    """

    spectrum: Spectrum
    spacings: Array
    largest: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(2 * own + 1 for own in self.largest)

    @property
    def n_modes(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def axes(self) -> list[Array]:
        """Squared frequencies of every input, shaped to broadcast over the lattice."""
        own = [(spacing * np.arange(-m, m + 1)) ** 2 for spacing, m in zip(self.spacings, self.largest, strict=True)]
        return list(np.ix_(*own))

    @property
    def squared(self) -> Array:
        """|omega|^2 of all modes."""
        return np.asarray(sum(self.axes))

    @cached_property
    def weights(self) -> Array:
        """w_j: density times the volume of a cell."""
        n_inputs = len(self.largest)
        return math.prod(self.spacings) * self.spectrum.density(self.squared, n_inputs)

    def weigh_gradient(self, power: Array) -> Array:
        """d/d log rate_k of sum_j power_j w_j for every input k, (d,).

        With frequencies of the unscaled points fixed, w is proportional to rate_k^(-1/2) times the density at
        omega_k^2 / rate_k.
        """
        weighted = power * self.weights
        by_density = weighted * self.spectrum.fall(self.squared, len(self.largest))
        return np.array([np.sum(by_density * own) for own in self.axes]) - 0.5 * weighted.sum()


def lattice(kernel: Stationary, extents: Array, policy: FourierPolicy = POLICY) -> Lattice:
    """Frequencies for points within a box, such that no kernel value is wrong by more than the tolerance.

    The sum over a lattice of spacing 2 pi / P is the kernel plus its images at distances P. If P exceeds the extent
    of the points by the reach of the kernel, the 3^d - 1 nearest images together are below the share `images` of the
    tolerance. Weights are positive and their sum is at least one, so that missing frequencies change no value by more
    than the mass of the density beyond them.
    """
    spectrum, n_inputs = SPECTRA[type(kernel)], len(extents)
    near = policy.images * spectrum.tolerance / (3.0**n_inputs - 1.0)
    periods = extents + math.sqrt(reach(kernel, near))
    spacings = 2.0 * math.pi / periods
    cutoff = spectrum.cutoff(n_inputs, policy.missed * spectrum.tolerance)
    return Lattice(spectrum, spacings, tuple(int(math.ceil(cutoff / spacing)) for spacing in spacings))


@dataclass(frozen=True, eq=False)
class Fourier(KernelOperator):
    """K ~ Phi diag(w) Phi*, every value within the tolerance of its `Spectrum`: 1e-9 for the Gaussian.

    So |(f K)_i - (f K~)_i| <= tolerance * sum_j |f_j| for every function f. Weights are positive, and the two
    transforms are adjoint to each other, so K~ is positive semidefinite up to rounding, for any tolerance.

    Products are always in double precision. Single precision saves at most half of the time, and its rounding is
    relative to the largest eigenvalue: it can make I + variance * K indefinite. A fit to 200,000 points then took
    twice the CPU time.
    """

    kernel: Stationary
    X: Any
    lattice: Lattice
    angles: Array = field(repr=False)  # (d, n): spacing times the centred and scaled points, within [-pi, pi]

    @property
    def n_points(self) -> int:  # type: ignore[override]
        return self.angles.shape[1]

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return np.dtype(np.float64)

    @property
    def n_reads(self) -> float:
        return POLICY.values_per_mode * (self.n_points + self.lattice.n_modes)

    def matmul(self, functions: Array) -> Array:
        result, weights = np.empty(functions.shape, functions.dtype), self.lattice.weights

        def multiply(some: slice) -> None:
            transforms = prepare_transforms(self)
            # The matrix is real: the product with a complex function consists of two products with real functions.
            for first in range(2 * some.start, min(2 * some.stop, len(functions)), 2):
                modes = transforms.sum_up(_join(*functions[first : first + 2]))
                image = transforms.evaluate(weights * modes)
                result[first] = image.real
                if first + 1 < len(functions):
                    result[first + 1] = image.imag

        for_each(multiply, even_slices((len(functions) + 1) // 2) if len(functions) else ())
        return result

    def accurate_matmul(self, functions: Array) -> Array:
        return self.matmul(functions.astype(np.float64, copy=False))

    def in_double(self) -> KernelOperator:
        return self

    def diagonal(self) -> Array:
        return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)

    def rows(self, indices: Indices) -> Array:
        return kernel_rows(self.kernel, self.X, indices, self.dtype)

    def contract_gradient(self, left: Array, right: Array) -> Array:
        def contract(some: slice) -> Array:
            transforms, power = prepare_transforms(self), np.zeros(self.lattice.shape)
            # With C the transform of left + i right at omega, and D the same transform at -omega, the real part of
            # conj(L) R for the transforms L and R of both is Im(C D) / 2.
            for pair in zip(left[some], right[some], strict=True):
                modes = transforms.sum_up(_join(*pair))
                power += 0.5 * (modes * np.flip(modes)).imag
            return self.lattice.weigh_gradient(power)

        parts = for_each(contract, even_slices(len(left)) if len(left) else ())
        return self.kernel.sum_by_rate(np.sum(parts, axis=0) if parts else np.zeros(len(self.angles)))


def _join(first: Array, second: Array | None = None) -> Array:
    """first + i second."""
    joined = np.zeros(len(first), np.complex128)
    joined.real = first
    if second is not None:
        joined.imag = second
    return joined


class Transforms(NamedTuple):
    """Both transforms for the points of one operator."""

    forward: Any  # type 1
    backward: Any  # type 2

    def sum_up(self, values: Array) -> Array:
        """sum_i values_i exp(-i omega x_i) at every frequency."""
        modes: Array = self.forward.execute(values)
        return modes

    def evaluate(self, modes: Array) -> Array:
        """sum_j modes_j exp(i omega_j x) at every point."""
        values: Array = self.backward.execute(modes)
        return values


def prepare_transforms(operator: Fourier, policy: FourierPolicy = POLICY) -> Transforms:
    """Sort the points for transforms, with as many threads as are allowed and useful."""
    finufft, shape = require_finufft(), operator.lattice.shape
    tolerance = policy.transforms * operator.lattice.spectrum.tolerance
    paying = (operator.n_points + operator.lattice.n_modes) // policy.points_per_thread
    settings = {"dtype": np.complex128, "nthreads": int(np.clip(paying, 1, n_threads()))}
    forward = finufft.Plan(1, shape, 1, tolerance, -1, **settings)
    backward = finufft.Plan(2, shape, 1, tolerance, 1, **settings)
    for plan in (forward, backward):
        plan.setpts(*operator.angles)
    return Transforms(forward, backward)


def require_finufft() -> Any:
    """The library of the transforms, which is optional."""
    try:
        import finufft
    except ImportError as error:
        raise ImportError(
            "`operator='fourier'` needs the library finufft, which is not installed. "
            "Install it with `pip install logikern[fourier]`, or pass 'sparse', 'tiled' or 'auto'."
        ) from error
    return finufft


def has_modes(kernel: Kernel, X: Any, policy: FourierPolicy = POLICY) -> bool:
    """Whether Fourier modes can be used: a smooth kernel on an array of few inputs, and finufft is installed."""
    is_smooth = type(kernel) in SPECTRA and has_near_pairs(kernel, X) and 1 <= X.shape[1] <= policy.most_inputs
    return is_smooth and importlib.util.find_spec("finufft") is not None


@dataclass(frozen=True, eq=False)
class ModePlan:
    """Products through Fourier modes, with their costs known before they are prepared."""

    kernel: Stationary
    X: Any
    policy: FourierPolicy = POLICY

    @cached_property
    def scaled(self) -> Array:
        """Points times the roots of their rates, (n, d)."""
        return scale_inputs(self.X.astype(np.float64, copy=False), self.kernel.input_rates(self.X.shape[1]))

    @cached_property
    def lattice(self) -> Lattice:
        return lattice(self.kernel, np.ptp(self.scaled, axis=0), self.policy)

    @property
    def n_values(self) -> float:
        """Number of kernel values that tiles could recompute in the time of one product."""
        return self.policy.values_per_mode * (len(self.X) + self.lattice.n_modes)

    def n_bytes(self, dtype: np.dtype) -> float:
        """Memory of a product, always in float64: grids of every thread, weights, points and values."""
        n_modes, (n_points, n_inputs) = float(self.lattice.n_modes), self.X.shape
        grid = self.policy.oversampling**n_inputs * n_modes
        per_thread = 16.0 * (grid + 2.0 * n_modes + 3.0 * n_points)
        return n_threads() * per_thread + 16.0 * n_modes + 8.0 * n_points * (n_inputs + 2)

    def bind(self, dtype: np.dtype) -> Fourier:
        """The operator, in float64 for any dtype."""
        centre = 0.5 * (self.scaled.min(axis=0) + self.scaled.max(axis=0))
        angles = np.ascontiguousarray(((self.scaled - centre) * self.lattice.spacings).T)
        return Fourier(self.kernel, self.X, self.lattice, angles)
