"""Fits on a cluster are those of the local estimator."""

import pickle
import threading

import numpy as np
import pytest
from sklearn.base import clone

from logikern import KernelLogisticClassifier, NeighbourhoodSettings, load_model, save_model

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from dask import array
from distributed import Client

from logikern.dask import DaskKernelLogisticClassifier, shuffle
from tests.dask.samples import SETTINGS, SHORT_SEARCH, UNEVEN, local_probabilities, rows

# Solvers stop at 1e-4; equal probabilities to 1e-6 mean that they took the same steps on the same neighbourhoods.
SAME = 1e-6


def lazy_rows(chunks=500):
    X, y = rows()
    return array.from_array(X, chunks=(chunks, -1)), array.from_array(y, chunks=700)


@pytest.fixture(scope="module")
def fitted(cluster):
    with Client(cluster) as client:
        return DaskKernelLogisticClassifier(client, **SETTINGS).fit(*lazy_rows())


def test_probabilities_are_those_of_the_local_fit(fitted):
    X, _ = rows()
    assert np.abs(fitted.predict_proba(X) - local_probabilities()).max() < SAME


def test_search_finds_the_hyperparameters_of_the_local_fit(client):
    X, y = rows()
    local = KernelLogisticClassifier(**SHORT_SEARCH).fit(X, y)
    found = DaskKernelLogisticClassifier(**SHORT_SEARCH).fit(*lazy_rows())
    same = found.model_.specification.log_parameters - local.model_.specification.log_parameters
    assert np.abs(same).max() < SAME
    assert len(found.trace_) == len(local.trace_) > 2
    assert np.abs(found.predict_proba(X) - local.predict_proba(X)).max() < SAME


@pytest.mark.parametrize("chunks", [UNEVEN, (3000,)], ids=["uneven and empty", "two workers without a chunk"])
def test_chunks_may_have_any_size(client, chunks):
    X, y = rows()
    found = DaskKernelLogisticClassifier(**SETTINGS).fit(array.from_array(X, chunks=(chunks, (2, 3))), y)
    assert np.abs(found.predict_proba(X) - local_probabilities()).max() < SAME


def test_rows_may_travel_by_groups_of_cells(client, monkeypatch):
    monkeypatch.setattr(shuffle, "USUAL", shuffle.ShufflePolicy(most_pieces=20))
    X, y = rows()
    weights = (np.arange(len(y)) % 5 > 0).astype(float)
    local = KernelLogisticClassifier(**SETTINGS).fit(X, y, weights)
    found = DaskKernelLogisticClassifier(**SETTINGS).fit(*lazy_rows(), weights)
    assert np.abs(found.predict_proba(X) - local.predict_proba(X)).max() < SAME


@pytest.mark.parametrize(("n_chunks", "n_cells", "n_groups"), [(10, 12, 12), (400, 4000, 64), (6, 10_000, 1666)])
def test_shuffles_have_few_pieces(n_chunks, n_cells, n_groups):
    policy = shuffle.ShufflePolicy(most_pieces=10_000)
    planned = shuffle.Shuffle([None] * n_chunks, [1] * n_chunks, [np.arange(1)] * n_cells, "", policy)
    assert planned.n_groups == n_groups
    assert planned.n_hops == (1 if n_groups == n_cells else 2)


def test_weights_may_be_lazy_and_zero(client):
    X, y = rows()
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    local = KernelLogisticClassifier(**SETTINGS).fit(X, y, weights)
    found = DaskKernelLogisticClassifier(**SETTINGS).fit(*lazy_rows(), array.from_array(weights, chunks=900))
    assert np.abs(found.predict_proba(X) - local.predict_proba(X)).max() < SAME


def test_targets_may_be_distributions(client):
    X, y = rows()
    soft = 0.1 / 3 + 0.9 * (y[:, None] == np.unique(y))
    local = KernelLogisticClassifier(**SETTINGS).fit(X, soft)
    found = DaskKernelLogisticClassifier(**SETTINGS).fit(lazy_rows()[0], array.from_array(soft, chunks=(800, -1)))
    assert np.abs(found.predict_proba(X) - local.predict_proba(X)).max() < SAME


def test_models_against_the_rest_are_fitted_by_workers(client):
    X, y = rows()
    settings = SETTINGS | {"one_vs_rest": True, "operator": NeighbourhoodSettings(size=500, partitions=1)}
    local = KernelLogisticClassifier(**settings).fit(X, y)
    found = DaskKernelLogisticClassifier(**settings).fit(*lazy_rows(1000))
    assert np.abs(found.predict_proba(X) - local.predict_proba(X)).max() < SAME


def test_frames_have_categories_text_and_gaps(client):
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    X, y = rows()
    table = pandas.DataFrame(X.copy(), columns=list("abcde"))
    table["kind"] = np.where(X[:, 3] > 0.5, "warm", "cold")
    table["level"] = pandas.Categorical(np.where(X[:, 4] > 1, "up", "down"))
    table.loc[::7, "a"] = np.nan
    lazy, labels = frames.from_pandas(table, npartitions=4), frames.from_pandas(pandas.Series(y), npartitions=4)
    local = KernelLogisticClassifier(**SETTINGS).fit(lazy.compute(), y)
    found = DaskKernelLogisticClassifier(**SETTINGS).fit(lazy, labels)
    assert np.abs(found.predict_proba(lazy).compute() - local.predict_proba(lazy.compute())).max() < SAME
    assert found.predict(lazy).compute().tolist() == local.predict(lazy.compute()).tolist()


def test_two_fits_share_a_cluster(client):
    found = {}

    def fit(seed):
        settings = SETTINGS | {"random_state": seed}
        found[seed] = DaskKernelLogisticClassifier(client, **settings).fit(*lazy_rows())

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    X, y = rows()
    assert np.abs(found[0].predict_proba(X) - local_probabilities()).max() < SAME
    other = KernelLogisticClassifier(**SETTINGS | {"random_state": 1}).fit(X, y)
    assert np.abs(found[1].predict_proba(X) - other.predict_proba(X)).max() < SAME


def test_local_model_can_be_pickled_and_cloned(fitted):
    X, _ = rows()
    assert not hasattr(fitted, "client_")
    again = pickle.loads(pickle.dumps(fitted))
    assert again.client is None
    local = pickle.loads(pickle.dumps(again.to_local()))
    assert type(local) is KernelLogisticClassifier
    assert np.array_equal(local.predict_proba(X[:9]), fitted.predict_proba(X[:9]))
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "classes_")


def test_clients_and_parameters_are_checked(fitted):
    with pytest.raises(TypeError, match="no parameter 'kernle'"):
        DaskKernelLogisticClassifier(kernle="gaussian")
    with pytest.raises(TypeError, match="must be a distributed.Client"):
        DaskKernelLogisticClassifier("tcp://somewhere").fit(*lazy_rows())


def test_without_a_client_there_is_an_error(cluster):
    with pytest.raises(ValueError, match="no Dask client"):
        DaskKernelLogisticClassifier(**SETTINGS).fit(*lazy_rows())


def test_plain_rows_and_unknown_chunks_are_refused(client):
    X, y = lazy_rows()
    with pytest.raises(TypeError, match="must be a Dask array or a Dask dataframe, but is of type ndarray"):
        DaskKernelLogisticClassifier(**SETTINGS).fit(*rows())
    with pytest.raises(ValueError, match=r"X\.compute_chunk_sizes\(\)"):
        DaskKernelLogisticClassifier(**SETTINGS).fit(X[X[:, 0] > 0], y)


def test_local_model_can_be_saved(fitted, tmp_path):
    X, _ = rows()
    save_model(fitted.to_local(), tmp_path / "model.skops")
    assert np.array_equal(
        load_model(tmp_path / "model.skops").predict_proba(X[:9]), fitted.to_local().predict_proba(X[:9])
    )
