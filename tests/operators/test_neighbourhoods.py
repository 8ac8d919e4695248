"""Blocks of neighbours, exact inside and of low rank between, against dense algebra."""

import numpy as np
import pytest

from logikern.kernels import Gaussian, GaussianLaplacian, Laplacian, Matern32, RationalQuadratic
from logikern.operators.choose import BlockLayout, Choice
from logikern.operators.landmarks import landmarked
from logikern.operators.neighbourhoods import Neighbourhoods

N = 40
X = np.random.default_rng(0).standard_normal((N, 3))
EDGES = np.array([0, 11, 12, 30, N])
KERNELS = {
    "gaussian": Gaussian(0.6),
    "rates of inputs": Gaussian((0.2, 0.5, 1.1)),
    "laplacian": Laplacian((0.3, 0.6), columns=(0, 1, 1)),
    "matern": Matern32(0.7),
    "two metrics": GaussianLaplacian(0.7, roughness=0.6, share=1.7),
    "heavy tails": RationalQuadratic(0.7, 1.3),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
every_rank = pytest.mark.parametrize("rank", [0, 1, 9])
every_dtype = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def bind(kernel, rank, dtype=np.float64, edges=EDGES):
    return Choice("dense", np.dtype(dtype), "", 1e9).points(X, layout=BlockLayout(edges, rank, seed=3)).bind(kernel)


def matrix_of(kernel, edges, landmarks):
    """F'F + blockdiag(K - F'F) by dense algebra."""
    whole = kernel(X, X)
    found = np.zeros((N, N))
    if len(landmarks):
        rows = kernel(X[landmarks], X)
        found = rows.T @ np.linalg.solve(rows[:, landmarks] + 1e-9 * np.eye(len(landmarks)), rows)
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        found[start:stop, start:stop] = whole[start:stop, start:stop]
    return found


def landmarks_of(operator):
    return np.zeros(0, dtype=int) if operator.coupling is None else operator.coupling.landmarks


def functions(seed=0, rows=3):
    return np.random.default_rng(seed).standard_normal((rows, N))


@every_kernel
@every_rank
@every_dtype
def test_products_and_rows_are_those_of_the_matrix(kernel, rank, dtype):
    operator, tolerance = bind(kernel, rank, dtype), 1e-8 if dtype == np.float64 else 2e-4
    matrix = matrix_of(kernel, EDGES, landmarks_of(operator))
    given, some = functions(), np.array([31, 0, 11, 39, 12])
    for product in (operator.matmul, operator.summed_matmul, operator.accurate_matmul):
        np.testing.assert_allclose(product(given), given @ matrix, rtol=0, atol=tolerance)
    np.testing.assert_allclose(operator.accurate_columns(given, some), (given @ matrix)[:, some], rtol=0, atol=1e-8)
    np.testing.assert_allclose(operator.rows(some), matrix[some], rtol=0, atol=tolerance)
    np.testing.assert_allclose(operator.rows(slice(None)), matrix, rtol=0, atol=tolerance)
    np.testing.assert_allclose(operator.diagonal(), np.diag(matrix), rtol=0, atol=tolerance)
    np.testing.assert_allclose(operator.in_double().matmul(given), given @ matrix, rtol=0, atol=1e-8)


@every_kernel
@every_rank
def test_matrix_is_positive_definite(kernel, rank):
    found = bind(kernel, rank).matmul(np.eye(N))
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(found)[0] > -1e-10


@every_kernel
@every_rank
def test_gradient_matches_differences_at_fixed_landmarks(kernel, rank):
    operator, left, right = bind(kernel, rank), functions(), functions(1)
    landmarks, step = landmarks_of(operator), 1e-5

    def contraction(logs):
        return np.sum((left @ matrix_of(kernel.with_log_parameters(logs), EDGES, landmarks)) * right)

    at = kernel.log_parameters
    expected = [(contraction(at + move) - contraction(at - move)) / (2 * step) for move in step * np.eye(at.size)]
    np.testing.assert_allclose(operator.contract_gradient(left, right), expected, rtol=1e-5, atol=1e-5)


@every_kernel
def test_one_block_is_the_exact_matrix(kernel):
    operator = bind(kernel, 5, edges=np.array([0, N]))
    np.testing.assert_allclose(operator.matmul(functions()), functions() @ kernel(X, X), rtol=0, atol=1e-8)


@every_kernel
def test_blocks_of_one_point_are_the_landmark_approximation(kernel):
    operator = bind(kernel, 9, edges=np.arange(N + 1))
    exact = Choice("dense", np.dtype(float), "", 1e9).points(X).bind(kernel)
    other = landmarked(exact, landmarks_of(operator))
    np.testing.assert_allclose(operator.matmul(functions()), other.matmul(functions()), rtol=0, atol=1e-8)
    found = operator.contract_gradient(functions(), functions(1))
    np.testing.assert_allclose(found, other.contract_gradient(functions(), functions(1)), rtol=1e-6, atol=1e-8)


def test_landmarks_stay_as_kernels_change():
    points = Choice("dense", np.dtype(float), "", 1e9).points(X, layout=BlockLayout(EDGES, 6))
    first, second = points.bind(Gaussian(0.5)), points.bind(Gaussian(2.0))
    np.testing.assert_array_equal(landmarks_of(first), landmarks_of(second))


def test_parts_are_blocks_and_reads_are_counted():
    operator = bind(Gaussian(0.6), 9)
    assert isinstance(operator, Neighbourhoods) and [part.n_points for part in operator.parts] == [11, 1, 18, 10]
    assert operator.n_reads == 11**2 + 1 + 18**2 + 10**2 + 2 * 9 * N
    assert bind(Gaussian(0.6), 0).n_reads == 11**2 + 1 + 18**2 + 10**2


def test_functions_without_rows_have_no_product():
    assert bind(Gaussian(0.6), 4).matmul(functions(rows=0)).shape == (0, N)
