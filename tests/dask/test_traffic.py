"""What travels: rows once per partition, and a model as one key of a graph."""

import dask
import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

import cloudpickle
from dask import array
from distributed import Client

from logikern.dask import DaskKernelLogisticClassifier, shuffle
from logikern.dask.traffic import FitSize, expected_traffic
from tests.dask.samples import SETTINGS, rows


@pytest.fixture(scope="module")
def fitted(cluster):
    X, y = rows(3000, 20)
    with Client(cluster) as client:
        return DaskKernelLogisticClassifier(client, **SETTINGS).fit(array.from_array(X, chunks=(300, -1)), y)


def received(client):
    """Bytes that workers have received from each other so far."""
    logs = client.run(lambda dask_worker: [entry["total"] for entry in dask_worker.transfer_incoming_log])
    return sum(sum(own) for own in logs.values())


@pytest.mark.parametrize(("most_pieces", "n_hops"), [(10_000, 1), (100, 2)])
def test_workers_move_as_many_bytes_as_the_formula_says(client, monkeypatch, most_pieces, n_hops):
    monkeypatch.setattr(shuffle, "USUAL", shuffle.ShufflePolicy(most_pieces))
    X, y = rows(6000, 20)
    before = received(client)
    found = DaskKernelLogisticClassifier(client, **SETTINGS).fit(array.from_array(X, chunks=(300, -1)), y)
    measured = received(client) - before
    size = FitSize(*X.shape, 3, len(found.model_.members), 3, row_bytes=8 * X.shape[1], n_hops=n_hops)
    formula = expected_traffic(size).between_workers
    assert 0.4 * formula < measured < 1.2 * formula


def test_coefficients_return_as_many_bytes_as_the_formula_says(fitted):
    members = fitted.model_.members
    size = FitSize(3000, 20, 3, len(members), 3, row_bytes=160.0)
    assert sum(member.dual.nbytes for member in members) == expected_traffic(size).returned


def test_prediction_is_lazy_and_keeps_chunks(fitted):
    X, _ = rows(3000, 20)
    lazy = array.from_array(X[:500], chunks=((50, 0, 450), (7, 13)))
    for method in ("predict_proba", "predict_log_proba", "predict"):
        found, wanted = getattr(fitted, method)(lazy), getattr(fitted.to_local(), method)(X[:500])
        assert isinstance(found, array.Array) and found.chunks[0] == (50, 0, 450)
        assert found.shape == wanted.shape and found.dtype == wanted.dtype
        if method == "predict":
            assert found.compute().tolist() == wanted.tolist()
        else:  # products of other shapes round otherwise
            assert np.allclose(found.compute(), wanted, rtol=0, atol=1e-12)


def test_model_is_one_key_of_the_graph(fitted):
    X, _ = rows(3000, 20)
    lazy = array.random.random((1000, 20), chunks=(100, 20))
    (found,) = dask.optimize(fitted.predict_proba(lazy))
    sizes = sorted(len(cloudpickle.dumps(task)) for task in dict(found.__dask_graph__()).values())
    assert sizes[-1] > X.nbytes and sizes[-2] < 0.05 * X.nbytes


def test_predictions_of_a_cluster_are_those_of_the_local_model(fitted, client):
    X, _ = rows(3000, 20)
    found = fitted.predict_proba(array.from_array(X, chunks=(500, -1))).compute()
    assert np.allclose(found, fitted.to_local().predict_proba(X), rtol=0, atol=1e-12)
