"""Workers that die, a cluster without workers, and interruptions."""

import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from dask import array
from distributed import Client, KilledWorker, LocalCluster

from logikern.dask import DaskKernelLogisticClassifier, waiting
from tests.dask.samples import SETTINGS, at_first_neighbourhood, local_probabilities, rows


@pytest.fixture
def frail():
    """A client of two processes of their own, of which a test kills one."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


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


def test_worker_killed_between_neighbourhoods_costs_time_only(frail):
    with at_first_neighbourhood(lambda: kill_a_worker(frail)) as done:
        fit_and_compare(frail)
    assert done


def test_worker_killed_at_the_beginning_costs_time_only(frail):
    killed: list[None] = []
    killer = threading.Timer(0.1, lambda: killed.append(kill_a_worker(frail)))
    killer.start()
    fit_and_compare(frail)
    assert killed  # before the fit ended
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


def test_task_that_kills_workers_ends_with_an_error(client, monkeypatch):
    def give_up(futures):
        raise KilledWorker("logikern-fit", SimpleNamespace(address="tcp://gone"), 3)

    monkeypatch.setattr(client, "gather", give_up)
    with pytest.raises(waiting.ClusterLostError, match=r"NeighbourhoodSettings(.|\n)*allowed-failures"):
        fit_and_compare(client)


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
