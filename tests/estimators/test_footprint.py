"""What calls are said to need: `fitting.footprint` and the checks that are made of it."""

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from logikern import KernelLogisticClassifier
from logikern.estimators import _memory
from logikern.estimators._inputs.data import check_together, training_data
from logikern.estimators._parameters import read_parameters
from logikern.fitting import footprint
from logikern.structure.mixing import Flat
from logikern.structure.tying import tie
from tests.estimators.memory_cells import pairs_of, sample

X, Y = sample(200, 4)
TYING = tie("shared", Flat(4))


def data_for(model, points, labels):
    return training_data(read_parameters(model), partial(check_together, model), points, labels, None)


def fixed(**settings):
    return KernelLogisticClassifier(**{"rate": 0.3, "variance": 10.0, "criterion": None} | settings)


def test_classes_of_a_tree_are_counted_as_one_matrix():
    # 60 classes x 400 rows: one matrix of 24,000^2 doubles has 4.6 GB.
    points, labels = sample(400, 60)
    data = data_for(fixed(hierarchy=pairs_of(60)), points, labels)
    size = _memory.size_of(data, tie("level", data.mixing))
    assert footprint.leave_one_out(size) > 3 * 24_000**2 * 8
    assert footprint.exact(size) > 3 * 24_000**2 * 8


def test_free_memory_is_the_limit_where_none_is_given(monkeypatch):
    monkeypatch.setattr(_memory, "available_memory", lambda: 5e6)
    with pytest.raises(ValueError, match=r"which is too much: 5 MB is free\. Free some memory, or pass fewer rows"):
        fixed().fit(X, Y)


def test_small_predictions_do_not_ask_for_free_memory(monkeypatch):
    model = fixed().fit(X, Y)
    monkeypatch.setattr(_memory, "available_memory", None)
    assert model.predict(X).shape == (200,)


def test_refits_in_small_batches_are_the_same():
    points, labels = sample(30, 3)
    model = fixed().fit(points, labels)
    wanted = model.exact_loo()
    data = model._training_data()
    least = footprint.MODEL.overhead + footprint.refits(_memory.size_of(data, model.model_.specification.tying), 2)
    model.set_params(memory_limit=least + 3 * 30 * 30 * 8)
    assert _memory.refits_at_a_time(data, model._resources(), model._loo_size(), model.kernels_[0], False) < 10
    np.testing.assert_allclose(model.exact_loo(), wanted, atol=1e-5)


def test_preconditioner_of_a_search_is_bounded_by_the_problem():
    data, bounds = data_for(fixed(), X, Y), []
    for limit in ("100MB", "1TB"):
        with pytest.warns(ConvergenceWarning, match="time limit was reached"):
            model = KernelLogisticClassifier(tying="shared", memory_limit=limit, max_time=1e-6).fit(X, Y)
        bounds.append(model.plan_.search.rungs[0].conditioning)
    assert bounds[0] == bounds[1] == footprint.search_conditioning(_memory.size_of(data, TYING, n_batch=5))


ROWS = {"newton": footprint.newton, "exact": footprint.exact, "pairs": footprint.pairs}


@pytest.mark.parametrize("bytes_of", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("field", ["n_points", "n_classes", "n_batch", "n_threads"])
def test_larger_problems_need_more(bytes_of, field):
    size = footprint.Size(300, 5, 5, 5, True, False)
    larger = footprint.Size(**{**vars(size), field: 2 * getattr(size, field)})
    assert bytes_of(larger) >= bytes_of(size)


def test_points_of_every_kind_are_counted():
    from scipy import sparse

    from logikern.kernels import training_points

    dense = np.ones((10, 3))
    assert _memory.bytes_of(dense) == _memory.bytes_of(dense.astype(np.float32)) == 240
    assert _memory.bytes_of(sparse.csr_array(dense)) >= 30 * 12
    assert _memory.bytes_of(training_points(np.eye(10))) == 800
