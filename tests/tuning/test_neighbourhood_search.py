"""Searches that finish on neighbourhoods: what they see, and that they resume, stop and repeat like any other."""

from functools import cache

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from logikern import KernelLogisticClassifier, NeighbourhoodSettings
from logikern.criteria.neighbourhoods import SeveralNeighbourhoods
from logikern.estimators import _search_plan
from logikern.estimators._subsets.cells import CellPlan, draw_cells
from tests.estimators.test_neighbourhoods import sample
from tests.policies import change_policy
from tests.tuning.samples import same

X, Y = sample(300, seed=7)
SETTINGS = NeighbourhoodSettings(size=80, partitions=2)


@pytest.fixture(autouse=True)
def small_cells(monkeypatch):
    change_policy(
        monkeypatch,
        _search_plan,
        coarse_size=60,
        coarse_per_class=10,
        neighbourhoods_from=200,
        cells=CellPlan(3, 50),
    )


def searching(**settings):
    usual = {"kernel": "gaussian", "inputs": "raw", "ard": False, "tying": "shared", "random_state": 0}
    return KernelLogisticClassifier(**{"operator": SETTINGS, **usual, **settings})


@cache
def found():
    return searching().fit(X, Y)


def interrupt_at(monkeypatch, number, error=KeyboardInterrupt):
    """Raise at the evaluation of this number on neighbourhoods."""
    evaluate, calls = SeveralNeighbourhoods.evaluate, []

    def counted(self, *given):
        calls.append(1)
        if len(calls) == number:
            raise error
        return evaluate(self, *given)

    monkeypatch.setattr(SeveralNeighbourhoods, "evaluate", counted)
    return calls


def test_search_finishes_on_whole_neighbourhoods():
    model = found()
    assert "3 neighbourhoods of 50 rows" in str(model.plan_)
    assert [record.n_points for record in model.trace_][-1] == 150  # three cells of 300 rows in six
    assert model.score(X, Y) > 0.7


@pytest.mark.parametrize("number", [1, 3])
def test_killed_search_resumes_on_the_same_neighbourhoods(number, tmp_path, monkeypatch):
    path = tmp_path / "fit.search"
    whole = searching(checkpoint=path.with_name("other")).fit(X, Y)
    with monkeypatch.context() as patch:
        interrupt_at(patch, number)
        with pytest.raises(KeyboardInterrupt):
            searching(checkpoint=path).fit(X, Y)
    n_evaluations = sum(record.n_points == 150 for record in whole.trace_)
    with monkeypatch.context() as patch:
        calls = interrupt_at(patch, 0)
        resumed = searching(checkpoint=path).fit(X, Y)
    assert same(resumed, whole) and len(calls) == n_evaluations - number + 1


def test_finished_search_is_not_repeated(tmp_path, monkeypatch):
    first = searching(checkpoint=tmp_path / "fit.search").fit(X, Y)
    calls = interrupt_at(monkeypatch, 1)
    assert same(searching(checkpoint=tmp_path / "fit.search").fit(X, Y), first) and not calls


def test_interrupted_search_keeps_the_best_so_far(monkeypatch):
    interrupt_at(monkeypatch, 2)
    with pytest.warns(ConvergenceWarning, match="ended early"):
        model = searching(on_interrupt="keep").fit(X, Y)
    assert model.interrupted_ and len(model.model_.members) == 2 and model.score(X, Y) > 0.7


def test_search_is_the_same_again_and_on_two_threads():
    assert same(searching().fit(X, Y), found())
    threaded = searching(n_jobs=2).fit(X, Y)
    np.testing.assert_allclose(threaded.hyperparameters_["value"], found().hyperparameters_["value"], rtol=1e-4)


def test_learned_temperature_is_used():
    model = searching(sharpen=True).fit(X, Y)
    assert not model.model_.specification.temperature.is_neutral
    assert "Inverse temperature" in model.explain()


@pytest.mark.parametrize(
    "settings", [{"search_size": 60}, {"criterion": "loo"}, {"cv": [(range(200), range(200, 300))]}]
)
def test_search_on_rows_that_the_user_sets_has_no_neighbourhoods(settings):
    assert "neighbourhoods of 50" not in str(searching(**settings).fit(X, Y).plan_)


def test_search_with_too_little_memory_is_refused(monkeypatch):
    change_policy(monkeypatch, _search_plan, cells=CellPlan(2, 150))
    with pytest.raises(ValueError, match="on 2 neighbourhoods of 150 rows with 3 classes needs about"):
        searching(memory_limit="20MB").fit(X, Y)


def test_rare_classes_are_among_the_cells():
    labels = np.where(X[:, 0] > np.sort(X[:, 0])[-6], 9, 0)  # five rows, close together
    for seed in range(10):
        rows = draw_cells(X, np.ones(3), labels, CellPlan(2, 50), 4, seed).rows
        assert (labels[rows] == 9).sum() >= 1


def test_cells_are_whole_cells_of_a_partition():
    drawn = draw_cells(X, np.ones(3), Y, CellPlan(3, 50), 4, 0)
    assert drawn.n_cells == 3 and drawn.n_points == 50 and len(drawn.rows) == len(set(drawn.rows)) == 150
    assert [part.stop - part.start for part in drawn.parts] == [50, 50, 50]
