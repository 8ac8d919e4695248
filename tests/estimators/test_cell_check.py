"""Before a fit by neighbourhoods, held-out rows tell how much twice as large neighbourhoods would gain."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from logikern import KernelLogisticClassifier, NeighbourhoodSettings
from logikern.estimators import _run
from logikern.estimators._cells import check, plan
from logikern.operators.partition import divide
from tests.estimators.test_neighbourhoods import N_CLASSES, fixed, sample
from tests.policies import change_policy

X, Y = sample(400, seed=5)
SOFT = 0.9 * np.eye(N_CLASSES)[Y] + 0.1 / N_CLASSES
SETTINGS = NeighbourhoodSettings(size=80, partitions=3)


@pytest.fixture
def small_cells(monkeypatch):
    change_policy(monkeypatch, plan, fewest_checked=10)


def losses(rows, held_out, partition, cells):
    """Of held-out rows, by models of each cell alone."""
    found, own = np.empty(len(held_out)), partition.assign(X[held_out])
    for number, cell in enumerate(cells):
        there = own == number
        if there.any():
            model = fixed("dense").fit(X[rows[cell]], SOFT[rows[cell]])
            found[there] = -(SOFT[held_out[there]] * model.predict_log_proba(X[held_out[there]])).sum(axis=1)
    return found


def test_losses_are_those_of_models_of_each_neighbourhood(small_cells, monkeypatch):
    drawn = []
    fit = check._losses
    monkeypatch.setattr(check, "_losses", lambda *given: drawn.append(given[1:]) or fit(*given))
    model = fixed(SETTINGS, n_jobs=1).fit(X, SOFT)
    apart: dict[int, list] = {1: [], 2: []}
    for kept, held_out, n_parts, seed in drawn:
        weights = np.full(3, np.sqrt(0.5))
        size = -(-len(kept) // n_parts)
        partition, cells = divide(X[kept], weights, size, np.random.default_rng(seed))
        assert len(cells) == n_parts and not set(kept) & set(held_out)
        apart[n_parts].append(losses(kept, held_out, partition, cells))
    whole, cut = np.concatenate(apart[1]), np.concatenate(apart[2])
    found = model.approximation_
    assert found.loss == pytest.approx(cut.mean(), abs=1e-6)
    assert found.larger_loss == pytest.approx(whole.mean(), abs=1e-6)
    assert found.noise == pytest.approx((cut - whole).std() / np.sqrt(len(cut)), rel=1e-4)
    assert found.n_rows == len(cut) and found.gain == pytest.approx(found.loss - found.larger_loss)


def test_check_has_neighbourhoods_of_the_planned_size_and_a_bounded_cost(small_cells):
    model = fixed(SETTINGS).fit(X, Y)
    cells = next(iter(model.plan_.solvers.values())).cells
    # Two whole fits of 1.6 times the rows and four of 0.8 times, in squared rows, against those of three partitions.
    cost = 2 * (1.6 * cells.checked) ** 2 + 4 * (0.8 * cells.checked) ** 2
    assert 0 < cost <= 0.25 * 3 * 400 * 80
    assert model.approximation_.size == pytest.approx(0.8 * cells.checked, rel=0.2)


@pytest.mark.parametrize("settings", [NeighbourhoodSettings(size=400), NeighbourhoodSettings(size=30)], ids=str)
def test_nothing_is_measured_if_all_rows_are_together_or_neighbourhoods_are_tiny(settings):
    assert fixed(settings).fit(X, Y).approximation_ is None


def test_exact_fit_has_no_approximation():
    assert not hasattr(fixed("dense").fit(X[:50], Y[:50]), "approximation_")


def test_landmarks_are_part_of_the_check(small_cells):
    found = fixed(NeighbourhoodSettings(80, 40, 3)).fit(X, Y).approximation_
    apart = fixed(SETTINGS).fit(X, Y).approximation_
    assert found.larger_loss == pytest.approx(apart.larger_loss, abs=1e-6)  # one cell needs no landmarks
    assert found.loss != pytest.approx(apart.loss, abs=1e-6)


def interrupt(*arguments):
    raise KeyboardInterrupt


def searching(**settings):
    usual = {"kernel": "gaussian", "tying": "shared", "ard": False, "inputs": "raw", "random_state": 0, "cv": 2}
    return KernelLogisticClassifier(operator=SETTINGS, **usual, **settings)


def test_interrupted_check_raises_or_is_skipped(monkeypatch):
    monkeypatch.setattr(_run, "check_cells", interrupt)
    with pytest.raises(KeyboardInterrupt):
        searching(search_size=60).fit(X, Y)
    model = searching(search_size=60, on_interrupt="keep").fit(X, Y)
    assert model.approximation_ is None and model.outcome_.converged and len(model.model_.members) == 3


def test_second_interruption_raises(monkeypatch):
    monkeypatch.setattr(_run, "check_cells", interrupt)
    monkeypatch.setattr(_run.CellFitter, "begin", lambda *given: interrupt)
    with pytest.raises(KeyboardInterrupt):
        searching(search_size=60, on_interrupt="keep").fit(X, Y)


def test_interruption_keeps_complete_partitions_after_a_search(monkeypatch):
    begin, calls = _run.CellFitter.begin, []

    def begin_or_interrupt(self, *given):
        finish = begin(self, *given)
        return lambda: interrupt() if calls.append(1) or len(calls) == 3 else finish()

    monkeypatch.setattr(_run.CellFitter, "begin", begin_or_interrupt)
    monkeypatch.setattr(_run, "check_cells", lambda *given: None)
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 of 3 partitions"):
        model = searching(search_size=60, on_interrupt="keep").fit(X, Y)
    assert len(model.model_.members) == 2 and model.interrupted_ and model.approximation_ is None
    assert model.score(X, Y) > 0.7
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        searching(search_size=60).fit(X, Y)
    calls[:] = [1, 1]
    with pytest.raises(KeyboardInterrupt):  # not even the first partition is complete
        searching(search_size=60, on_interrupt="keep").fit(X, Y)
