import numpy as np
import pytest
from scipy import sparse

from logikern.kernels import FunctionKernel, Gaussian, Laplacian, Linear, Precomputed, training_points
from logikern.numerics.free_memory import available_memory
from logikern.operators.choose import OPERATORS, POLICY, choose
from logikern.operators.dense import Dense
from logikern.operators.fourier import Fourier
from logikern.operators.linear import FeatureProduct
from logikern.operators.sparse import NearPairs
from logikern.operators.tiled import Tiled

MEGABYTE = 1e6
FAST = ("sparse", "fourier", "fast")


def table(n=300, d=4):
    return np.random.default_rng(0).standard_normal((n, d))


def test_a_matrix_that_fits_is_kept():
    assert choose((Gaussian(),), table(), memory_limit=10 * MEGABYTE).name == "dense"


def test_a_matrix_that_does_not_fit_is_tiled():
    assert choose((Gaussian(),), table(), memory_limit=MEGABYTE).name == "tiled"


def test_a_matrix_may_fill_its_share_of_memory():
    limit = 300 * 300 * 8 / POLICY.matrix_fraction
    names = [choose((Gaussian(),), table(), memory_limit=factor * limit).name for factor in (1.01, 0.99)]
    assert names == ["dense", "tiled"]


def test_every_kernel_needs_its_own_matrix():
    limit = 1.5 * 300 * 300 * 8 / POLICY.matrix_fraction
    names = [choose((Gaussian(),) * count, table(), memory_limit=limit).name for count in (1, 2)]
    assert names == ["dense", "tiled"]


def test_matrices_beside_those_of_the_kernels_count():
    limit = 1.5 * 300 * 300 * 8 / POLICY.matrix_fraction
    names = [choose((Gaussian(),), table(), memory_limit=limit, n_matrices=count).name for count in (1, 2)]
    assert names == ["dense", "tiled"]


def test_single_precision_needs_half_the_memory():
    limit = 0.75 * 300 * 300 * 8 / POLICY.matrix_fraction
    names = [
        choose((Gaussian(),), table(), precision=precision, memory_limit=limit).name
        for precision in ("single", "double")
    ]
    assert names == ["dense", "tiled"]


@pytest.mark.parametrize("X", [table(), sparse.csr_array(table())], ids=["dense", "sparse"])
def test_few_features_are_used(X):
    assert choose((Linear(),), X).name == "features"


def test_many_features_are_not_used():
    assert choose((Linear(),), table(20, 100)).name == "dense"


def test_many_sparse_features_are_used():
    X = sparse.random_array((300, 5000), density=0.001, rng=np.random.default_rng(0), format="csr")
    assert choose((Linear(),), X).name == "features"


def test_features_with_parameters_are_not_used():
    # The gradient of such a kernel needs its matrix anyway.
    assert choose((0.5 * Linear(),), table()).name == "dense"


@pytest.mark.parametrize("n, dtype", [(POLICY.single_from - 1, np.float64), (POLICY.single_from, np.float32)])
def test_precision_follows_the_number_of_points(n, dtype):
    assert choose((Gaussian(),), table(n)).dtype == dtype


def test_products_through_fourier_modes_are_double():
    assert choose((LONG,), grid_points(), operator="fourier").dtype == np.float64


@pytest.mark.parametrize("precision, dtype", [("single", np.float32), ("double", np.float64)])
@pytest.mark.parametrize("n", [10, POLICY.single_from])
def test_precision_can_be_overruled(n, precision, dtype):
    assert choose((Gaussian(),), table(n), precision=precision).dtype == dtype


@pytest.mark.parametrize("operator", OPERATORS)
def test_operator_can_be_overruled(operator):
    kernel = Gaussian() if operator in FAST else Linear()
    assert choose((kernel,), table(d=2), operator=operator, memory_limit=1.0).name == operator


def test_features_of_a_kernel_without_any_are_refused():
    with pytest.raises(ValueError, match="needs kernels with an explicit, finite-dimensional feature map"):
        choose((Linear(), Gaussian()), table(), operator="features")


@pytest.mark.parametrize(
    "kernel, options, fragment",
    [
        (Gaussian(), {"memory_limit": 10 * MEGABYTE}, "1 kernel matrix of 0.7 MB: kept in memory"),
        (Gaussian(), {"memory_limit": MEGABYTE}, "60% of the 1.0 MB allowed"),
        (Gaussian(), {"memory_limit": MEGABYTE}, "recomputed tile by tile"),
        (Linear(), {}, "which are few or sparse"),
        (Gaussian(), {"operator": "tiled"}, "operator='tiled', as requested"),
    ],
)
def test_reason_says_why(kernel, options, fragment):
    assert fragment in choose((kernel,), table(), **options).reason


def test_memory_limit_is_passed_on():
    assert choose((Gaussian(),), table(), memory_limit=123.0).memory == 123.0


def test_memory_of_the_machine_is_the_default():
    assert choose((Gaussian(),), table()).memory == pytest.approx(available_memory(), rel=0.5)


@pytest.mark.parametrize(
    "kernel, operator, kind",
    [(Gaussian(), "dense", Dense), (Gaussian(), "tiled", Tiled), (Linear(), "features", FeatureProduct)],
)
def test_bound_operator_is_of_the_kind_chosen(kernel, operator, kind):
    assert isinstance(choose((kernel,), table(), operator=operator).points(table()).bind(kernel), kind)


@pytest.mark.parametrize("operator", ["dense", "tiled", "features"])
@pytest.mark.parametrize("dtype, precision", [(np.float32, "single"), (np.float64, "double")])
def test_bound_operator_has_the_precision_chosen(dtype, precision, operator):
    choice = choose((Linear(),), table(), operator=operator, precision=precision)
    assert choice.points(table()).bind(Linear()).dtype == dtype


def test_tiles_keep_to_the_memory_limit():
    choice = choose((Gaussian(),), table(2000), operator="tiled", precision="double", memory_limit=4 * MEGABYTE)
    operator = choice.points(table(2000)).bind(Gaussian())
    assert operator.tile**2 * 8 < 4 * MEGABYTE


@pytest.mark.parametrize(
    "kernel, points",
    [
        (Precomputed(), training_points(np.eye(12))),
        (FunctionKernel(max), [3.0] * 12),
        (FunctionKernel(max), np.array(["a"] * 12, dtype=object)),
    ],
    ids=["kernel rows", "list", "object array"],
)
def test_any_kind_of_points_can_be_counted(kernel, points):
    limit = 12 * 12 * 8 / POLICY.matrix_fraction
    names = [choose((kernel,), points, memory_limit=factor * limit).name for factor in (1.01, 0.99)]
    assert names == ["dense", "tiled"]


def grid_points(n=POLICY.fast_from):
    return np.random.default_rng(0).random((n, 2))


SHORT, LONG = Gaussian(1e6), Gaussian(10.0)


@pytest.mark.parametrize(
    "kernel, operator, kind",
    [
        (SHORT, "sparse", NearPairs),
        (LONG, "fourier", Fourier),
        (SHORT, "fast", NearPairs),
        (LONG, "fast", Fourier),
        (Laplacian(1e4), "fast", NearPairs),
        # Where fast sums would be slow, products are exact.
        (LONG, "sparse", Dense),
        (SHORT, "fourier", Dense),
        (Laplacian(1.0), "fast", Dense),
    ],
)
def test_fast_sums_are_used_where_they_are_fast(kernel, operator, kind):
    X = grid_points()
    assert isinstance(choose((kernel,), X, operator=operator).points(X).bind(kernel), kind)


@pytest.mark.parametrize("operator, kernel", [("sparse", SHORT), ("fourier", LONG)])
def test_few_points_are_multiplied_exactly(operator, kernel):
    X = grid_points(POLICY.fast_from - 1)
    assert isinstance(choose((kernel,), X, operator=operator).points(X).bind(kernel), Dense)


@pytest.mark.parametrize("operator, kernel", [("sparse", SHORT), ("fourier", LONG)])
def test_fast_sums_that_exceed_the_memory_are_replaced_by_tiles(operator, kernel):
    X = grid_points()
    bound = choose((kernel,), X, operator=operator, memory_limit=0.1 * MEGABYTE).points(X).bind(kernel)
    assert isinstance(bound, Tiled)


@pytest.mark.parametrize(
    "kernel, X, name",
    [
        (Gaussian(), grid_points(), "fast"),
        (Laplacian(), table(POLICY.fast_from, 6), "fast"),
        (Gaussian(), grid_points(POLICY.fast_from - 1), "tiled"),
        (2.0 * Gaussian(), grid_points(), "tiled"),
        (Gaussian(), sparse.csr_array(grid_points()), "tiled"),
    ],
)
def test_matrices_that_do_not_fit_are_replaced_by_fast_sums(kernel, X, name):
    assert choose((kernel,), X, memory_limit=10 * MEGABYTE).name == name


def test_matrices_that_fit_are_kept_although_sums_would_be_fast():
    assert choose((LONG,), grid_points()).name == "dense"


@pytest.mark.parametrize(
    "operator, kernel, d", [("fourier", Laplacian(), 2), ("fourier", Gaussian(), 4), ("fast", Linear(), 2)]
)
def test_fast_sums_of_other_kernels_are_refused(operator, kernel, d):
    with pytest.raises(ValueError, match=rf"`operator='{operator}'` needs a"):
        choose((kernel,), table(d=d), operator=operator)
