"""Every call keeps to `memory_limit` or is refused before its work begins; a search does not depend on it."""

import json
import os
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from logikern import KernelLogisticClassifier, KernelRegressor
from logikern.estimators import _search
from logikern.estimators._inputs.alternatives import list_alternatives
from logikern.estimators._inputs.data import check_together, training_data
from logikern.estimators._parameters import parse_memory, read_parameters
from logikern.estimators._search_plan import plan_growth
from logikern.operators.choose import POLICY
from tests.estimators.memory_cells import pairs_of, sample

X, Y = sample(200, 4)
ROOT = Path(__file__).resolve().parents[2]
# Cells of memory_cells.py, the limit of each, and whether it must be refused.
CELLS = {
    "exact solver": ("20MB", True),
    "free bias": ("20MB", True),
    "leave-one-out search": ("30MB", True),
    "leave-one-out of a tree": ("20MB", True),
    "low rank leave-one-out": ("120MB", False),
    "low rank leave-one-out, little memory": ("40MB", True),
    "prediction": ("20MB", False),
    "fit": ("60MB", False),
    "fit by city-block distances": ("60MB", False),
    "search by city-block distances": ("30MB", True),
    "neighbourhoods": ("40MB", False),
    "large neighbourhoods": ("60MB", False),
    "neighbourhoods of many classes": ("60MB", False),
    "neighbourhoods with landmarks": ("60MB", False),
    "neighbourhoods, little memory": ("9MB", True),
    "prediction by neighbourhoods": ("20MB", False),
}


@cache
def measured():
    """Growth and refusal of every cell, from one process."""
    command = [sys.executable, "-m", "tests.estimators.memory_cells", *CELLS]
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=alone, cwd=ROOT)
    return {record["cell"]: record for record in map(json.loads, run.stdout.splitlines())}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are read from Linux's /proc")
@pytest.mark.parametrize("cell", CELLS)
def test_call_keeps_to_the_limit_or_is_refused(cell):
    (limit, refused), found = CELLS[cell], measured()[cell]
    assert found["growth"] <= 1.1 * parse_memory(limit)
    assert bool(found["refusal"]) == refused
    if refused:
        assert "needs about" in found["refusal"] and found["growth"] <= 4e6  # nothing was begun


def fixed(**settings):
    return KernelLogisticClassifier(**{"rate": 0.3, "variance": 10.0, "criterion": None} | settings)


TREE = {"hierarchy": pairs_of(4)}
FITS = {
    "newton": ({"solver": "newton"}, "A fit to 200 rows with 4 classes"),
    "exact": ({"solver": "exact"}, "or pass fewer rows or solver='newton'"),
    "pairs": ({"solver": "smo"}, "A fit to 200 rows with 4 classes"),
    "gradients": ({"solver": "kcg"}, "A fit to 200 rows with 4 classes"),
    "dense": ({"operator": "dense", "solver": "newton"}, "or operator='tiled'"),
    "free bias": ({"bias_variance": np.inf}, "or a finite `bias_variance`"),
    "folds": ({"criterion": "cv"}, "A fit to 200 rows"),
    "tree": (TREE, "A fit to 200 rows with 4 classes"),
    "exact tree": (TREE | {"solver": "exact"}, "solver='newton'"),
    "one against the rest": ({"one_vs_rest": True}, "One model for each of 4 classes"),
}


@pytest.mark.parametrize("settings, fragment", FITS.values(), ids=FITS)
def test_fit_with_too_little_memory_is_refused(settings, fragment):
    with pytest.raises(
        ValueError, match=r"about \d+ MB, which is too much: `memory_limit` allows \d+ MB\."
    ) as refusal:
        fixed(memory_limit="5MB", **settings).fit(X, Y)
    assert fragment in str(refusal.value) and "Pass a larger `memory_limit`" in str(refusal.value)


SEARCHES = {
    "folds": ({"criterion": "cv"}, "A search by 5-fold cross-validation on 200 rows with 4 classes needs"),
    "exact folds": ({"criterion": "cv", "solver": "exact"}, "smaller `search_size` or criterion=None"),
    "leave-one-out": ({"criterion": "loo"}, "smaller `search_size`, criterion='cv' or criterion=None"),
    "tree": (TREE | {"criterion": "loo", "search_size": None}, "A search by leave-one-out on 200 rows"),
}


@pytest.mark.parametrize("settings, fragment", SEARCHES.values(), ids=SEARCHES)
def test_search_with_too_little_memory_is_refused_before_it(settings, fragment, monkeypatch):
    monkeypatch.setattr(_search, "learn", None)
    limit = "40MB" if settings.get("criterion") == "loo" and "hierarchy" in settings else "17MB"
    with pytest.raises(ValueError, match="needs about") as refusal:
        fixed(memory_limit=limit, **settings).fit(X, Y)
    assert fragment in str(refusal.value)


def test_regression_with_too_little_memory_is_refused():
    with pytest.raises(ValueError, match="200 rows with 1 outputs needs about"):
        KernelRegressor(memory_limit="5MB").fit(X, X[:, 0])


def test_stream_with_too_little_memory_is_refused():
    model = fixed(memory_limit="5MB")
    with pytest.raises(ValueError, match="A fit to 200 rows with 4 classes needs about"):
        model.partial_fit(X, Y, classes=range(4))


@pytest.mark.parametrize(
    "ask, subject",
    [
        (lambda model: model.loo_proba_, "Leave-one-out for 200 rows and 4 classes"),
        (lambda model: model.suspects(), "Leave-one-out for 200 rows and 4 classes"),
        (lambda model: model.exact_loo(), "Refitting without one of 200 rows, with 4 classes,"),
        (lambda model: model.predict(X), "Prediction of 4 values for each of 200 rows"),
    ],
    ids=["loo_proba_", "suspects", "exact_loo", "predict"],
)
def test_question_with_too_little_memory_is_refused(ask, subject):
    model = fixed().fit(X, Y).set_params(memory_limit="1MB")
    with pytest.raises(ValueError, match="needs about") as refusal:
        ask(model)
    assert str(refusal.value).startswith(subject)


def test_search_does_not_depend_on_memory(monkeypatch):
    """The same subsets and stages whether products are stored or tiled, and results that agree as rough fits do."""
    points, labels = sample(110, 3)

    def search(limit):
        return KernelLogisticClassifier(random_state=0, memory_limit=limit).fit(points, labels)

    much = search("2GB")
    monkeypatch.setitem(vars(POLICY), "matrix_fraction", 0.0)
    little = search("60MB")
    assert "tile by tile" in little.operator_ and "kept in memory" in much.operator_
    assert {record.n_points for record in much.trace_} == {record.n_points for record in little.trace_}
    of_both = [[(verdict.stage, verdict.kept) for verdict in model.verdicts_] for model in (much, little)]
    assert of_both[0] == of_both[1]
    assert much.criterion_value_ == pytest.approx(little.criterion_value_, rel=2e-3)
    np.testing.assert_allclose(much.variances_, little.variances_, rtol=5e-2)


def test_stages_do_not_depend_on_memory():
    plans = []
    for limit in ("1kB", "1TB"):
        model = KernelLogisticClassifier(memory_limit=limit)
        parameters = read_parameters(model)
        data = training_data(parameters, partial(check_together, model), X, Y, None)
        plans.append(plan_growth(parameters, data, list_alternatives(parameters, data)[0].start))
    assert plans[0] == plans[1] and len(plans[0].tyings) > 1
