"""What a tuned model tells of its search."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from logikern import KernelLogisticClassifier
from logikern.decisions.rules import decide
from tests.tuning.samples import NAMES, X, default_fit, tuned

CLASSES = ["setosa", "versicolor", "virginica"]


def separate():
    return tuned(tying="separate", ard=True).fit(X, NAMES)


def test_best_value_never_rises_over_the_stages_on_the_same_points():
    records = default_fit().trace_
    assert len({record.stage for record in records}) > 1 and len({record.n_points for record in records}) == 1
    assert [record.best for record in records] == list(np.minimum.accumulate([record.value for record in records]))


def test_best_value_begins_anew_on_other_points():
    records = tuned(tying="shared", ard=False).fit(*many_points()).trace_
    sizes = [record.n_points for record in records]
    first = sizes.index(sizes[-1])
    assert len(set(sizes)) == 2 and records[first].best == records[first].value


def many_points():
    """More points than the search begins with."""
    random = np.random.default_rng(0)
    points = random.standard_normal((1300, 2))
    return points, points[:, 0] + random.standard_normal(1300) > 0


def test_frame_has_its_columns():
    assert list(default_fit().hyperparameters_.columns) == ["name", "classes", "value", "start"]


def test_frame_of_a_shared_kernel_names_no_class():
    frame = tuned(tying="shared", ard=False).fit(X, NAMES).hyperparameters_
    assert frame["name"].tolist() == ["rate", "variance", "bias_variance"] and set(frame["classes"]) == {"all"}


def test_frame_has_the_values_of_the_model():
    model = tuned(tying="separate", ard=False).fit(X, NAMES)
    values = model.hyperparameters_["value"].tolist()
    assert values == pytest.approx([*(kernel.rate for kernel in model.kernels_), *model.variances_, 16.0], rel=1e-14)


def test_frame_names_inputs_and_classes():
    frame = separate().hyperparameters_
    rates = frame[frame["name"].str.startswith("rate")]
    expected = [(f"rate[{place}]", name) for name in CLASSES for place in range(4)]
    assert list(zip(rates["name"], rates["classes"], strict=True)) == expected


def test_frame_has_rates_of_the_model():
    model = separate()
    frame = model.hyperparameters_
    rates = frame.loc[frame["name"].str.startswith("rate"), "value"]
    assert rates.tolist() == pytest.approx(np.concatenate([kernel.rate for kernel in model.kernels_]), rel=1e-14)


def test_frame_has_one_start_for_all_rates():
    frame = separate().hyperparameters_
    assert frame.loc[frame["name"].str.startswith("rate"), "start"].nunique() == 1


def test_frame_names_groups_of_classes():
    frame = tuned(tying=["a", "b", "a"], ard=False).fit(X, NAMES).hyperparameters_
    assert frame["classes"].tolist() == ["setosa, virginica", "versicolor"] * 2 + ["all"]


def test_frame_of_fixed_hyperparameters_has_them_as_start():
    frame = tuned(criterion=None).fit(X, NAMES).hyperparameters_
    assert frame["value"].tolist() == frame["start"].tolist()


def test_criterion_value_is_that_of_the_model_kept():
    model = default_fit()
    kept = [verdict for verdict in model.verdicts_ if verdict.kept]
    assert model.criterion_value_ == kept[-1].value


def test_trace_numbers_every_evaluation():
    trace = default_fit().trace_
    assert [record.evaluation for record in trace] == list(range(1, len(trace) + 1))


def test_value_of_a_verdict_is_one_of_its_stage():
    model = default_fit()
    for verdict in model.verdicts_:
        assert verdict.value in [record.value for record in model.trace_ if record.stage == verdict.stage]


@pytest.mark.parametrize("method", ["explain", "plot_search"])
def test_story_needs_a_fit(method):
    with pytest.raises(NotFittedError):
        getattr(KernelLogisticClassifier(), method)()


def test_frame_needs_a_fit():
    with pytest.raises(NotFittedError):
        _ = KernelLogisticClassifier().hyperparameters_


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_picture_has_a_line_for_every_stage(pyplot):
    model = default_fit()
    assert len(model.plot_search().lines) == len({record.stage for record in model.trace_})


def test_picture_is_drawn_where_asked(pyplot):
    ax = pyplot.subplots()[1]
    assert default_fit().plot_search(ax) is ax


def test_picture_of_fixed_hyperparameters_is_refused():
    with pytest.raises(ValueError, match="no search to draw"):
        tuned(criterion=None).fit(X, NAMES).plot_search()


LOSS = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])


@pytest.mark.parametrize("loss", [None, LOSS, lambda decided, true: float(decided != true) + (true == "virginica")])
def test_decisions_are_those_of_the_rule(loss):
    model = default_fit()
    expected = decide(model.predict_proba(X), loss, classes=model.classes_).decisions
    assert model.decide(X, loss).tolist() == model.classes_[expected].tolist()


def test_decisions_without_a_loss_are_predictions():
    assert default_fit().decide(X).tolist() == default_fit().predict(X).tolist()


def test_rejected_cases_bear_the_label_asked_for():
    model = tuned(criterion=None).fit(X, NAMES)
    rejected = decide(model.predict_proba(X), None, 0.02).rejected
    found = model.decide(X, reject_cost=0.02, reject_label="unknown")
    assert rejected.any() and ((found == "unknown") == rejected).all()


def test_rejected_cases_are_none_by_default():
    found = tuned(criterion=None).fit(X, NAMES).decide(X, reject_cost=0.02)
    assert any(label is None for label in found)


def test_evaluations_are_logged_on_request(caplog):
    with caplog.at_level("INFO", logger="logikern"):
        model = tuned(verbose=1, tying="shared", ard=False).fit(X, NAMES)
    assert sum("criterion" in message for message in caplog.messages) == len(model.trace_)
