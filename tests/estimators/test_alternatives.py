"""Which first models a search compares, and what follows from the choice."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import logikern
from logikern import KernelLogisticClassifier
from logikern.encoding.scaling import Ranked, Standardised, Unscaled
from logikern.estimators._inputs.alternatives import carry_over
from logikern.kernels import Gaussian, GaussianLaplacian, Laplacian
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.tying import tie

N = 60
RANDOM = np.random.default_rng(0)
NUMBERS = RANDOM.standard_normal((N, 3)) * [1.0, 30.0, 0.2]
LABELS = (NUMBERS[:, 0] + NUMBERS[:, 1] / 30 > 0).astype(int)
PIXELS = RANDOM.uniform(0, 16, (N, 9)) + LABELS[:, None] * np.arange(9)
COLOURS = pd.DataFrame({"hue": RANDOM.choice(["red", "blue", "green"], N), "ripe": RANDOM.random(N) < 0.5})
KERNELS = ["Gaussian + Laplacian", "Gaussian", "Laplacian"]


def short(**settings):
    """A search that compares first models only."""
    return KernelLogisticClassifier(**{"tying": "shared", "ard": False, "cv": 3, "random_state": 0, **settings})


def planned(model):
    """Names of the first models that the search may try."""
    return [own.name for own in model.plan_.alternatives]


def compared(model):
    """Names of the first models that the search tried, without the tying."""
    return [verdict.stage.removesuffix("shared").rstrip(", ") for verdict in model.verdicts_]


def texts(n_words, density=0.01):
    counts = sparse.random_array((N, n_words), density=density, rng=np.random.default_rng(1), format="csr")
    return counts + sparse.csr_array((LABELS[:, None] * (np.arange(n_words) < 3)).astype(float))


STANDARD = [f"{kernel}, standardised" for kernel in KERNELS]


@pytest.mark.parametrize(
    ("X", "names"),
    [
        (NUMBERS, [*STANDARD, "Gaussian + Laplacian, ranks"]),
        (PIXELS, [*STANDARD, "Gaussian + Laplacian, ranks", "Gaussian + Laplacian, unscaled"]),
        (PIXELS * 10.0 ** np.arange(9), [*STANDARD, "Gaussian + Laplacian, ranks"]),
        (PIXELS[:, :7], [*STANDARD, "Gaussian + Laplacian, ranks"]),
        (COLOURS, KERNELS),
        (COLOURS.assign(size=NUMBERS[:, 0]), [*STANDARD, "Gaussian + Laplacian, ranks"]),
        (sparse.csr_array(NUMBERS), KERNELS),
        (texts(1200), [""]),
    ],
    ids=["numbers", "pixels", "other units", "few pixels", "levels", "mixed", "sparse and narrow", "sparse and wide"],
)
def test_first_models_go_by_the_inputs(X, names):
    assert planned(short().fit(X, LABELS)) == names


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"kernel": "gaussian"}, ["standardised", "ranks"]),
        ({"kernel": "gaussian", "inputs": "raw"}, [""]),
        ({"inputs": "ranks"}, KERNELS),
        ({"kernel": Gaussian(0.3)}, [""]),
        ({"kernel": "linear"}, [""]),
        ({"rate": 0.5}, [""]),
    ],
    ids=str,
)
def test_what_is_given_is_not_compared(settings, names):
    assert planned(short(**settings).fit(NUMBERS, LABELS)) == names


@pytest.mark.parametrize(("X", "kernel"), [(NUMBERS, "Gaussian"), (texts(1200), "Linear")], ids=["numbers", "texts"])
@pytest.mark.parametrize("criterion", [None, "cv"])
def test_kernel_of_texts_is_linear_and_that_of_a_fixed_model_a_gaussian(X, kernel, criterion):
    model = short(criterion=criterion).fit(X, LABELS)
    if kernel == "Linear" or criterion is None:
        assert type(model.kernels_[0]).__name__ == kernel and isinstance(model.encoder_.scaling, Unscaled)


def test_scale_of_a_sparse_matrix_leaves_zeros():
    model = short().fit(sparse.csr_array(NUMBERS), LABELS)
    scaling = model.encoder_.scaling
    assert isinstance(scaling, Standardised) and not scaling.shift.any() and sparse.issparse(model.model_.points)


def test_dense_words_are_not_taken_for_texts():
    assert planned(short().fit(texts(1200, density=0.2), LABELS)) == KERNELS


@cache
def steps():
    """Labels by thresholds on single columns with heavy tails: ranks and a Laplacian suit them."""
    random = np.random.default_rng(2)
    X = np.exp(3.0 * random.standard_normal((200, 2)))
    return X, ((X[:, 0] > 1.0) ^ (X[:, 1] > 1.0)).astype(int)


def test_ranks_win_for_thresholds_with_heavy_tails():
    model = short().fit(*steps())
    assert isinstance(model.encoder_.scaling, Ranked)
    kept = [verdict for verdict in model.verdicts_ if verdict.kept]
    assert kept[-1].stage == "Gaussian + Laplacian, ranks, shared" and model.criterion_value_ == kept[-1].value


def test_scale_that_was_chosen_is_part_of_the_model_and_its_file(tmp_path):
    X, y = steps()
    model = short().fit(X, y)
    points = model.encoder_.scaling.transform(X)
    np.testing.assert_array_equal(model.model_.points, points)
    latent = model.model_.latents(points)
    np.testing.assert_array_equal(model.decision_function(X), latent[:, 1] - latent[:, 0])
    logikern.save_model(model, tmp_path / "model.skops")
    again = logikern.load_model(tmp_path / "model.skops")
    assert again.encoder_.scaling.kind == "ranks"
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_criterion_belongs_to_the_final_model():
    """The same kernel on the same scale, given, has the same criterion."""
    X, y = steps()
    model = short().fit(X, y)
    points = model.encoder_.scaling.transform(X)
    again = short(kernel=model.kernels_[0], inputs="raw", variance=float(model.variances_[0]), max_time=1e-9)
    with pytest.warns(UserWarning):
        again.fit(points, y)
    assert again.trace_[0].value == pytest.approx(model.criterion_value_, rel=1e-3)


@pytest.mark.parametrize("settings", [{}, {"tying": "auto", "ard": "auto"}], ids=["shared", "auto"])
@pytest.mark.parametrize("criterion", ["cv", "loo"])
def test_units_of_columns_do_not_matter(criterion, settings):
    X, y = load_iris(return_X_y=True)
    units = np.array([1.0, 1e6, 1e-3, 10.0])
    wanted = short(criterion=criterion, **settings).fit(X[::2], y[::2]).predict_proba(X)
    found = short(criterion=criterion, **settings).fit(X[::2] * units, y[::2]).predict_proba(X * units)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_scaler_in_a_pipeline_does_not_matter():
    X, y = load_iris(return_X_y=True)
    wanted = short().fit(X[::2], y[::2]).predict_proba(X)
    found = make_pipeline(StandardScaler(), short()).fit(X[::2], y[::2]).predict_proba(X)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_explain_lists_what_was_compared():
    model = short().fit(NUMBERS, LABELS)
    told = model.explain()
    for verdict in model.verdicts_:
        assert f"\n  {verdict.stage} " in told
    assert f"First models: {'; '.join(planned(model))}." in " ".join(told.split())


def test_weight_equals_repetition():
    counts = RANDOM.integers(1, 4, N)
    splits = [
        (np.flatnonzero(np.arange(N) % 3 != fold), np.flatnonzero(np.arange(N) % 3 == fold)) for fold in range(3)
    ]
    rows = np.repeat(np.arange(N), counts)
    repeated = [tuple(np.flatnonzero(np.isin(rows, part)) for part in split) for split in splits]
    weighted = short(cv=splits, solver="exact").fit(NUMBERS, LABELS, sample_weight=counts.astype(float))
    other = short(cv=repeated, solver="exact").fit(NUMBERS[rows], LABELS[rows])
    assert [verdict.kept for verdict in other.verdicts_] == [verdict.kept for verdict in weighted.verdicts_]
    np.testing.assert_allclose(other.predict_proba(NUMBERS), weighted.predict_proba(NUMBERS), atol=1e-6)


def test_models_against_the_rest_choose_each_for_itself(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = short(one_vs_rest=True).fit(X[::2], y[::2])
    assert model.score(X, y) > 0.9 and isinstance(model.encoder_.scaling, Unscaled)
    latents = [binary.predict_log_proba(X)[:, 1] for binary in model.binaries_]
    np.testing.assert_allclose(model.decision_function(X), np.stack(latents, axis=1), atol=1e-9)
    logikern.save_model(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(logikern.load_model(tmp_path / "model.skops").predict(X), model.predict(X))


def test_stream_keeps_the_scale_that_was_chosen():
    X, y = steps()
    model = short().fit(X[:150], y[:150])
    fixed = model.encoder_.scaling
    model.partial_fit(X[150:], y[150:])
    assert model.encoder_.scaling is fixed and len(model.model_.points) == 200
    np.testing.assert_array_equal(model.model_.points, fixed.transform(X))


@pytest.mark.parametrize("n_kernels", [1, 3])
@pytest.mark.parametrize("bias", [16.0, np.inf])
def test_later_models_start_as_far_from_their_defaults(n_kernels, bias):
    tying = tie("shared" if n_kernels == 1 else "separate", Flat(3))

    def specify(kernel, variance):
        return Specification((kernel,) * n_kernels, (variance,) * n_kernels, bias, tying, Flat(3))

    begun, best = specify(GaussianLaplacian(1.0, 2.0, 1.0), 30.0), specify(GaussianLaplacian(3.0, 1.0, 4.0), 60.0)
    smoother = specify(GaussianLaplacian(3.0, 1.0, 0.25), 60.0)
    other = carry_over(specify(GaussianLaplacian(0.5, 2.0, 1.0), 30.0), best, begun)
    assert other.kernels[0].log_parameters == pytest.approx(GaussianLaplacian(1.5, 1.0, 4.0).log_parameters)
    assert other.variances == pytest.approx((60.0,) * n_kernels) and other.bias_variance == pytest.approx(bias)
    smooth = carry_over(specify(Gaussian(0.7), 30.0), smoother, begun)
    rough = carry_over(specify(Laplacian(0.7), 30.0), best, begun)
    assert smooth.kernels == (Gaussian(3.0),) * n_kernels and smooth.variances == best.variances
    assert rough.kernels == (Laplacian(3.0**0.5),) * n_kernels
    mean = specify(GaussianLaplacian(0.5, 2.0, 1.0), 30.0)
    assert carry_over(mean, rough, begun) is mean


def test_kernel_with_the_smaller_weight_is_not_tried():
    def specify(kernel):
        return Specification((kernel,), (30.0,), 16.0, tie("shared", Flat(3)), Flat(3))

    begun, rougher, smoother = (specify(GaussianLaplacian(1.0, 2.0, share)) for share in (1.0, 4.0, 0.25))
    assert carry_over(specify(Gaussian(0.7)), rougher, begun) is None
    assert carry_over(specify(Laplacian(0.7)), smoother, begun) is None
    assert carry_over(specify(Laplacian(0.7)), specify(Gaussian(0.7)), begun) is None


@pytest.mark.parametrize("X", [NUMBERS, PIXELS, COLOURS], ids=["numbers", "pixels", "levels"])
def test_one_kernel_alone_is_compared_with_the_mean_of_both(X):
    model = short().fit(X, LABELS)
    tried = [name for name in compared(model) if not name.startswith("Gaussian + Laplacian")]
    assert len(tried) == 1 and tried[0] in planned(model)


def test_kernel_per_class_may_have_variances_of_its_own():
    X, y = load_iris(return_X_y=True)
    model = short(tying="separate", variance=[1.0, 2.0, 3.0]).fit(X[::3], y[::3])
    assert len(model.verdicts_) == 3 and len(model.kernels_) == 3
