"""Workers that die, a cluster without workers, and interruptions."""

import os
import signal
import threading
import time

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from dask import array
from distributed import Client, LocalCluster

from logikern.dask import DaskKernelLogisticClassifier, waiting
from tests.dask.samples import SETTINGS, at_first_neighbourhood, local_probabilities, rows


def kill_a_worker(client):
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def fit_and_compare(client):
    X, y = rows()
    found = DaskKernelLogisticClassifier(client, **SETTINGS).fit(array.from_array(X, chunks=(400, -1)), y)
    assert np.abs(found.predict_proba(X) - local_probabilities()).max() < 1e-6


def keys_of_fits(client):
    def list_keys(dask_scheduler):
        return [str(key) for key in dask_scheduler.tasks if "logikern" in str(key) or "split-s" in str(key)]

    return client.run_on_scheduler(list_keys)


def test_worker_killed_between_neighbourhoods_costs_time_only(client):
    with at_first_neighbourhood(lambda: kill_a_worker(client)) as done:
        fit_and_compare(client)
    assert done


def test_worker_killed_at_the_beginning_costs_time_only(client):
    killer = threading.Timer(0.1, kill_a_worker, [client])
    killer.start()
    fit_and_compare(client)
    killer.join()


def test_interruption_cancels_all_tasks(client):
    def interrupt():
        raise KeyboardInterrupt

    X, y = rows()
    model = DaskKernelLogisticClassifier(client, **SETTINGS)
    with at_first_neighbourhood(interrupt), pytest.raises(KeyboardInterrupt):
        model.fit(array.from_array(X, chunks=(400, -1)), y)
    assert not hasattr(model, "client_")
    end = time.monotonic() + 10
    while keys_of_fits(client) and time.monotonic() < end:
        time.sleep(0.1)
    assert keys_of_fits(client) == []


def test_task_that_kills_workers_ends_with_an_error(client):
    def allow_failures(number):
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", number))

    allow_failures(0)
    try:
        with at_first_neighbourhood(lambda: kill_a_worker(client)), pytest.raises(waiting.ClusterLostError) as error:
            fit_and_compare(client)
    finally:
        allow_failures(3)
    assert "allowed-failures" in str(error.value) and "NeighbourhoodSettings" in str(error.value)


@pytest.fixture
def small_cluster(monkeypatch):
    """A worker in this process that is not started again, and less patience with it."""
    monkeypatch.setattr(waiting, "USUAL", waiting.WaitingPolicy(look=0.2, patience=1.0))
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0", silence_logs=50) as cluster:
        yield cluster


def test_fit_without_workers_ends_with_an_error(small_cluster):
    X, y = rows()
    with Client(small_cluster) as client, pytest.raises(waiting.ClusterLostError, match="no worker for"):
        small_cluster.scale(0)
        DaskKernelLogisticClassifier(client, **SETTINGS).fit(array.from_array(X, chunks=(400, -1)), y)


def test_loss_of_all_workers_ends_with_an_error(small_cluster):
    X, y = rows()
    with (
        Client(small_cluster) as client,
        at_first_neighbourhood(lambda: small_cluster.scale(0)) as done,
        pytest.raises(waiting.ClusterLostError, match="no worker for"),
    ):
        DaskKernelLogisticClassifier(client, **SETTINGS).fit(array.from_array(X, chunks=(400, -1)), y)
    assert done


def test_usual_patience_is_below_a_minute():
    policy = waiting.WaitingPolicy()
    assert policy.patience + 2 * policy.look < 60
