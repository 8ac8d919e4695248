"""Products with the covariance of all class functions at all points."""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each, n_threads
from logikern.operators.base import KernelOperator
from logikern.operators.isotropic import accurate_products
from logikern.structure.mixing import Mixing

# Above this number of classes times points, elementwise passes take as long as products. With 26 classes and 3000
# rows (27,000 to 78,000 of them), passes in single precision save 12 to 20 % of a fit's CPU time.
LARGE_STATE = 10_000


NO_MATRIX: Array = np.zeros((0, 0))


class CovarianceGradient(NamedTuple):
    """Derivatives of a contraction with respect to the logs of all hyperparameters, and to the mixing."""

    kernels: tuple[Array, ...]
    variances: Array
    bias_variance: float
    mixing: Array = NO_MATRIX  # (C, P): in the entries of the mixing's matrix; empty if it has no parameters

    def scaled(self, factor: float) -> "CovarianceGradient":
        """All derivatives times a factor."""
        kernels = tuple(factor * kernel for kernel in self.kernels)
        return CovarianceGradient(kernels, factor * self.variances, factor * self.bias_variance, factor * self.mixing)


@dataclass(frozen=True, eq=False)
class ClassCovariance:
    """K~ = Mixing blockdiag(v_p M_(l_p)) Mixing' + bias_variance * (I (x) 1 1').

    Seeger (2008), eqs. (2) and (4). Latent function p has the correlation matrix
    of operator `assignment[p]` times the variance `variances[p]`.

    Parameters
    ----------
    operators : tuple of KernelOperator
    assignment : integer array of shape (P,)
        Which operator each latent function uses.
    variances : array of shape (P,)
    mixing : Mixing
    bias_variance : float
        Prior variance of each class's constant, Seeger (2008), sec. 5.1.1.
    """

    operators: tuple[KernelOperator, ...]
    assignment: Indices
    variances: Array
    mixing: Mixing
    bias_variance: float

    @property
    def n_points(self) -> int:
        return self.operators[0].n_points

    @property
    def n_classes(self) -> int:
        return self.mixing.n_classes

    @property
    def parts(self) -> "list[ClassCovariance]":
        """Covariances of consecutive points whose coupling a preconditioner may ignore; itself if all are coupled."""
        parts = zip(*(operator.parts for operator in self.operators), strict=True)
        found = [replace(self, operators=own) for own in parts]
        return found if len(found) > 1 else [self]

    @property
    def is_single(self) -> bool:
        """Whether some products are computed in single precision."""
        return any(operator.dtype == np.float32 for operator in self.operators)

    @property
    def working_dtype(self) -> np.dtype:
        """Dtype for elementwise work: the operator's for large problems, float64 otherwise."""
        large = self.n_classes * self.n_points >= LARGE_STATE
        return self.operators[0].dtype if large else np.dtype(np.float64)

    def in_double(self) -> "ClassCovariance":
        """The same covariance with all products in double precision."""
        return replace(self, operators=tuple(operator.in_double() for operator in self.operators))

    def scaled(self, factor: float) -> "ClassCovariance":
        """The covariance times a factor."""
        return replace(self, variances=factor * self.variances, bias_variance=factor * self.bias_variance)

    def matmul(self, per_class: Array) -> Array:
        """K~ times each member of the batch, (B, C, n) -> (B, C, n)."""
        return self._product(per_class, [operator.matmul for operator in self.operators])

    def summed_matmul(self, per_class: Array) -> Array:
        """`matmul` with the stored matrices, summed in float64; the result is float64."""
        in_double = per_class.astype(np.float64, copy=False)
        return self._product(in_double, [operator.summed_matmul for operator in self.operators])

    def accurate_matmul(self, per_class: Array) -> Array:
        """`matmul` with kernel values computed in float64; the result is float64."""
        in_double = per_class.astype(np.float64, copy=False)
        if len(self.operators) == 1:
            return self._product(in_double, [self.operators[0].accurate_matmul])
        inner = self.mixing.adjoint(in_double)
        blocks = [inner[:, self._users(index)].reshape(-1, self.n_points) for index in range(len(self.operators))]
        found = accurate_products(self.operators, blocks)
        return self._product(in_double, [lambda _, own=own: own for own in found])

    def accurate_columns(self, per_class: Array, indices: Indices) -> Array:
        """The accurate product at some points, (B, C, n) -> (B, C, len(indices))."""
        columns = [partial(operator.accurate_columns, indices=indices) for operator in self.operators]
        return self._product(per_class, columns, len(indices))

    def _product(self, per_class: Array, products: list, n_columns: int | None = None) -> Array:
        n_columns = self.n_points if n_columns is None else n_columns
        if len(products) == 1:
            image = products[0](per_class.reshape(-1, self.n_points)).reshape(*per_class.shape[:2], n_columns)
            result = self.mixing.couple(image, self.variances, out=image)
        else:
            result = self._product_by_function(per_class, products, n_columns)
        if self.bias_variance:
            result += self.bias_variance * per_class.sum(axis=-1, dtype=np.float64, keepdims=True)
        return result

    def _product_by_function(self, per_class: Array, products: list, n_columns: int) -> Array:
        inner = self.mixing.adjoint(per_class)  # (B, P, n)
        outer = np.empty((*inner.shape[:2], n_columns), inner.dtype)

        def multiply(index: int) -> None:
            users = self._users(index)
            block = inner[:, users]
            image = products[index](block.reshape(-1, self.n_points)).reshape(*block.shape[:2], n_columns)
            image *= self.variances[users].astype(image.dtype)[:, None]
            outer[:, users] = image

        # With several operators per thread, threads need not wait for each other after each one.
        if len(products) >= 2 * n_threads():
            for_each(multiply, range(len(products)))
        else:
            for index in range(len(products)):
                multiply(index)
        return self.mixing.forward(outer)

    def _users(self, index: int) -> Indices | slice:
        """Latent functions of an operator; a slice if these are all, which avoids a copy."""
        users = np.flatnonzero(self.assignment == index)
        return slice(None) if len(users) == len(self.assignment) else users

    def diagonal(self) -> Array:
        """diag K~, (C, n)."""
        own = np.stack([operator.diagonal() for operator in self.operators])
        latent = own[self.assignment] * self.variances[:, None]
        return self.mixing.forward_diagonal(latent) + self.bias_variance

    def mean_variance(self) -> float:
        """Mean of `diagonal`, from the mean of each operator's diagonal."""
        own = np.array([operator.diagonal().mean() for operator in self.operators])
        latent = own[self.assignment] * self.variances
        return float(self.mixing.forward_diagonal(latent[:, None]).mean()) + self.bias_variance

    def matmul_at_points(self, per_class: Array) -> Array:
        """K~_ii f_i, the covariance between classes at each point times f there, (B, C, n) -> (B, C, n)."""
        own = [operator.diagonal() for operator in self.operators]
        if len(own) == 1:
            image = self.mixing.couple(per_class, self.variances) * own[0].astype(per_class.dtype)
        else:
            latent = np.stack(own)[self.assignment] * self.variances[:, None]
            image = self.mixing.forward(self.mixing.adjoint(per_class) * latent)
        return image + self.bias_variance * per_class

    def contract_gradient(self, left: Array, right: Array) -> CovarianceGradient:
        """d/d log h of sum left . (K~ right), left and right (B, C, n)."""
        bias = self.bias_variance * np.sum(left.sum(axis=-1) * right.sum(axis=-1))
        if len(self.operators) == 1:
            return self._contract_one(left, right, float(bias))
        mixing = self._contract_mixing(left, right) if self.mixing.parameters.size else NO_MATRIX
        left, right = self.mixing.adjoint(left), self.mixing.adjoint(right)
        variances = np.empty(len(self.variances))
        kernels = []
        for index, operator in enumerate(self.operators):
            users = np.flatnonzero(self.assignment == index)
            scaled = left[:, users] * self.variances[users][:, None]
            flat = right[:, users].reshape(-1, self.n_points)
            image = operator.matmul(flat).reshape(scaled.shape)
            variances[users] = np.einsum("bpn,bpn->p", scaled, image)
            kernels.append(operator.contract_gradient(scaled.reshape(-1, self.n_points), flat))
        return CovarianceGradient(tuple(kernels), variances, float(bias), mixing)

    def _contract_mixing(self, left: Array, right: Array) -> Array:
        """Derivatives in the entries of B, (C, P): with K the covariance of latent functions, K B' right left' and
        its counterpart with left and right exchanged."""
        images = [self._latent_product(own) for own in (left, right)]
        return _pair(left, images[1]) + _pair(right, images[0])

    def _latent_product(self, per_class: Array) -> Array:
        """blockdiag(v_p M_(l_p)) B' times each member, (B, C, n) -> (B, P, n)."""
        latent = self.mixing.adjoint(per_class)
        image = np.empty_like(latent)
        for index, operator in enumerate(self.operators):
            users = self._users(index)
            own = latent[:, users]
            image[:, users] = operator.matmul(own.reshape(-1, self.n_points)).reshape(own.shape)
        return image * self.variances.astype(image.dtype)[:, None]

    def _contract_one(self, left: Array, right: Array, bias: float) -> CovarianceGradient:
        """`contract_gradient` for one correlation matrix M: K~ is then M times a matrix over classes."""
        operator, shape = self.operators[0], (-1, self.n_points)
        image = operator.matmul(right.reshape(shape)).reshape(right.shape)
        variances = self.variances * self.mixing.couple_gradient(left, image)
        coupled = self.mixing.couple(left, self.variances)
        kernel = operator.contract_gradient(coupled.reshape(shape), right.reshape(shape))
        mixing = NO_MATRIX
        if self.mixing.parameters.size:
            between = _pair(left, image)  # derivatives in the matrix over classes, (C, C)
            mixing = (between + between.T) @ (self.mixing.as_matrix() * self.variances)
        return CovarianceGradient((kernel,), variances, bias, mixing)


def _pair(left: Array, right: Array) -> Array:
    """sum_b left_b right_b', (B, C, n) and (B, P, n) -> (C, P), in double precision."""
    return np.asarray(np.matmul(left, right.swapaxes(1, 2)).sum(axis=0, dtype=np.float64))
