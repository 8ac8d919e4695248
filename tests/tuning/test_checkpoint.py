"""A checkpoint belongs to its data and settings, and a finished search is not repeated."""

import sys
import threading

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedKFold

from logikern.criteria.cross_validation import CrossValidation
from logikern.estimators import _search_plan
from logikern.estimators._checkpoint import open_journal
from logikern.kernels import FunctionKernel
from logikern.selection.journal import write
from tests.policies import change_policy
from tests.selection.samples import Bowl
from tests.tuning.samples import MOONS, NAMES, SIDES, X, default_fit, same, tuned
from tests.tuning.test_interruption import raise_at

WEIGHTS = np.linspace(1, 2, len(X))
GROUPS = np.arange(len(X)) // 2


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.search"


@pytest.fixture
def forbidden(monkeypatch):
    """Call to let no evaluation be computed any more."""

    def refuse(*arguments):
        raise AssertionError("nothing should be computed")

    return lambda: monkeypatch.setattr(CrossValidation, "evaluate", refuse)


def test_checkpoint_does_not_change_the_answer(path):
    assert same(tuned(checkpoint=path).fit(X, NAMES), default_fit())


@pytest.mark.parametrize("kind", [str, lambda path: path], ids=["text", "path"])
def test_checkpoint_is_a_text_or_a_path(path, kind):
    tuned(checkpoint=kind(path), tying="shared", ard=False).fit(X, NAMES)
    assert path.exists()


def test_finished_search_is_reused(path, forbidden):
    first = tuned(checkpoint=path).fit(X, NAMES)
    forbidden()
    assert same(tuned(checkpoint=path).fit(X, NAMES), first)


def test_reused_search_has_its_trace(path):
    first = tuned(checkpoint=path).fit(X, NAMES)
    assert tuned(checkpoint=path).fit(X, NAMES).trace_ == first.trace_


def test_search_without_a_random_state_is_reused(path, forbidden):
    first = tuned(checkpoint=path, random_state=None).fit(X, NAMES)
    forbidden()
    assert same(tuned(checkpoint=path, random_state=None).fit(X, NAMES), first)


@pytest.mark.parametrize(
    "harmless", [{"max_time": 1e3}, {"verbose": 1}, {"n_jobs": 1}, {"on_interrupt": "keep"}], ids=str
)
def test_settings_that_change_no_answer_may_differ(path, forbidden, harmless):
    first = tuned(checkpoint=path).fit(X, NAMES)
    forbidden()
    assert same(tuned(checkpoint=path, **harmless).fit(X, NAMES), first)


@pytest.mark.parametrize("later", [{"tol": 1e-2}, {"max_iter": 20}], ids=str)
def test_settings_of_the_final_fit_may_differ(path, forbidden, later):
    first = tuned(checkpoint=path).fit(X, NAMES)
    forbidden()
    again = tuned(checkpoint=path, **later).fit(X, NAMES)
    assert again.variances_.tolist() == first.variances_.tolist()
    assert again.criterion_value_ == first.criterion_value_


@pytest.mark.parametrize(
    "other",
    [
        {"kernel": "matern32"},
        {"tying": "scaled"},
        {"rate": 0.3},
        {"variance": 3.0},
        {"bias_variance": 4.0},
        {"cv": 4},
        {"cv": StratifiedKFold(5)},
        {"ard": False},
        {"learn_bias": True},
        {"search_size": 40},
        {"n_starts": 2},
        {"class_weight": "balanced"},
        {"random_state": 1},
    ],
    ids=str,
)
def test_checkpoint_of_other_settings_is_refused(path, other):
    tuned(checkpoint=path).fit(X, NAMES)
    with pytest.raises(ValueError, match="other data or other settings"):
        tuned(**{"checkpoint": path, **other}).fit(X, NAMES)


@pytest.mark.parametrize(
    "data",
    [
        (X + 1e-6, NAMES),
        (X[:-1], NAMES[:-1]),
        (X, NAMES[::-1]),
        (X, NAMES, WEIGHTS),
        (X, NAMES, None, GROUPS),
    ],
    ids=["inputs", "rows", "labels", "weights", "groups"],
)
def test_checkpoint_of_other_data_is_refused(path, data):
    tuned(checkpoint=path).fit(X, NAMES)
    with pytest.raises(ValueError, match="other data or other settings"):
        tuned(checkpoint=path).fit(*data)


def test_file_that_is_no_checkpoint_is_refused_and_kept(path):
    path.write_text("my notes")
    with pytest.raises(ValueError, match="`checkpoint` must be a file that an earlier search wrote"):
        tuned(checkpoint=path).fit(X, NAMES)
    assert path.read_text() == "my notes"


@pytest.mark.parametrize("name", ["nowhere/fit.search", "notes/searches", "notes/searches/"])
def test_folder_that_is_not_created_is_refused_before_any_work(name, tmp_path, forbidden):
    (tmp_path / "notes").write_text("a file, not a folder")
    forbidden()
    with pytest.raises(ValueError, match="`checkpoint` must be in an existing folder"):
        tuned(checkpoint=f"{tmp_path}/{name}").fit(X, NAMES)


def new_function():
    """The same function at another address, as in another process."""

    def kernel(left, right):
        return float(left @ right)

    return kernel


def test_function_as_kernel_is_known_again(path, forbidden):
    functions = [new_function(), new_function()]
    first = tuned(functions[0], checkpoint=path).fit(X, NAMES)
    forbidden()
    again = tuned(functions[1], checkpoint=path).fit(X, NAMES)
    assert np.array_equal(again.dual_coef_, first.dual_coef_)


def product(factor):
    return lambda left, right: factor * float(left @ right)


def edited_function():
    """A function of the same name."""

    def kernel(left, right):
        return 1.0 + float(left @ right)

    kernel.__qualname__ = new_function().__qualname__
    return kernel


OTHER_FUNCTIONS = {
    "edited function": (new_function(), edited_function()),
    "value in a closure": (product(1.0), product(2.0)),
    "other lambda": (lambda left, right: float(left @ right), lambda left, right: float(left @ right) ** 2),
    "function of a kernel": (FunctionKernel(product(1.0)), FunctionKernel(product(2.0))),
    "function of a sum": tuple(FunctionKernel(product(1.0)) + FunctionKernel(product(own)) for own in (1.0, 2.0)),
}


@pytest.mark.parametrize("change", OTHER_FUNCTIONS)
def test_checkpoint_of_another_function_is_refused(path, change):
    first, second = OTHER_FUNCTIONS[change]
    settings = {"checkpoint": path, "tying": "shared", "max_time": 1e-3}
    with pytest.warns(ConvergenceWarning):
        tuned(first, **settings).fit(X[::2], NAMES[::2])
    with pytest.raises(ValueError, match="other data or other settings"):
        tuned(second, **settings).fit(X[::2], NAMES[::2])


def test_checkpoint_of_a_function_that_cannot_be_compared_is_refused(path, forbidden):
    lock = threading.Lock()

    def kernel(left, right):
        with lock:
            return float(left @ right)

    forbidden()
    with pytest.raises(ValueError, match="whether `kernel` is the same: an object of type lock"):
        tuned(kernel, checkpoint=path).fit(X, NAMES)


def test_rates_are_known_by_every_value(path):
    # So many that NumPy abbreviates them when it writes them out.
    wide, rates = np.tile(X[::3], (1, 300)), np.full(1200, 1e-3)
    settings = {"checkpoint": path, "tying": "shared", "ard": False, "max_time": 1e-3}
    with pytest.warns(ConvergenceWarning):
        tuned(rate=rates, **settings).fit(wide, NAMES[::3])
    rates[600] = 1.0
    with pytest.raises(ValueError, match="other data or other settings"):
        tuned(rate=rates, **settings).fit(wide, NAMES[::3])


def test_checkpoint_in_use_by_another_fit_is_refused(path, monkeypatch):
    errors = []
    evaluate = CrossValidation.evaluate

    def intrude(*arguments):
        with pytest.raises(ValueError) as caught:
            tuned(checkpoint=path).fit(X, NAMES)
        errors.append(str(caught.value))
        return evaluate(*arguments)

    monkeypatch.setattr(CrossValidation, "evaluate", intrude)
    first = tuned(checkpoint=path, tying="shared", ard=False).fit(X, NAMES)
    assert len(errors) == len(first.trace_)
    assert all(f"`{path}` is in use by another search" in error for error in errors)


def test_finished_fit_leaves_nothing_but_its_checkpoints(path, forbidden):
    settings = {"checkpoint": path, "one_vs_rest": True, "tying": "shared", "ard": False}
    first = tuned(**settings).fit(X, NAMES)
    assert sorted(file.name for file in path.parent.iterdir()) == ["fit.search.0", "fit.search.1", "fit.search.2"]
    forbidden()
    assert np.array_equal(tuned(**settings).fit(X, NAMES).dual_coef_, first.dual_coef_)


def test_damaged_checkpoint_is_refused(path):
    tuned(checkpoint=path, tying="shared", ard=False).fit(X, NAMES)
    content = path.read_bytes()
    path.write_bytes(content[:-100] + bytes(100))
    with pytest.raises(ValueError, match=f"`{path}` is damaged.*Delete it"):
        tuned(checkpoint=path, tying="shared", ard=False).fit(X, NAMES)


# Three matrices of 300 rows in double precision take more than half of it.
LITTLE_MEMORY = 50_000_000


@pytest.fixture
def machine_with(monkeypatch):
    """Call with the bytes that are free from now on."""

    def change(n_bytes):
        for name, module in list(sys.modules.items()):
            for function in ("available_memory", "physical_memory"):
                if name.startswith("logikern.") and hasattr(module, function):
                    monkeypatch.setattr(module, function, lambda: float(n_bytes))

    return change


def clusters():
    generator = np.random.default_rng(0)
    labels = np.arange(300) % 3
    return generator.standard_normal((300, 2)) * (1 + labels[:, None]), labels


@pytest.mark.parametrize("how", ["limit", "machine"])
def test_search_does_not_depend_on_memory(path, forbidden, machine_with, how):
    settings = {"checkpoint": path, "ard": False, "tol": 1e-2}
    first = tuned(**settings).fit(*clusters())
    assert any(record.stage == "separate" for record in first.trace_)
    forbidden()
    if how == "machine":
        machine_with(LITTLE_MEMORY)
    else:
        settings["memory_limit"] = LITTLE_MEMORY
    again = tuned(**settings).fit(*clusters())
    assert again.model_.specification == first.model_.specification and again.trace_ == first.trace_


def test_search_begun_with_little_memory_goes_on_with_more(path, monkeypatch):
    settings = {"ard": False, "tol": 1e-2}
    whole = tuned(**settings).fit(*clusters())
    n_before = [record.stage for record in whole.trace_].index("separate")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        raise_at(n_before + 1, patch)
        tuned(checkpoint=path, memory_limit=LITTLE_MEMORY, **settings).fit(*clusters())
    resumed = tuned(checkpoint=path, **settings).fit(*clusters())
    assert [record.stage for record in resumed.trace_] == [record.stage for record in whole.trace_]
    # Products may be summed in another order.
    assert resumed.criterion_value_ == pytest.approx(whole.criterion_value_, rel=1e-5)


def test_random_state_is_known_by_what_it_draws(path, forbidden):
    settings = {"checkpoint": path, "tying": "shared", "ard": False}
    tuned(**settings, random_state=np.random.RandomState(3)).fit(X, NAMES)
    with pytest.raises(ValueError, match="other data or other settings"):
        tuned(**settings, random_state=np.random.RandomState(4)).fit(X, NAMES)
    forbidden()
    tuned(**settings, random_state=np.random.RandomState(3)).fit(X, NAMES)


def many_splits(seed):
    """So many places that NumPy abbreviates them when it writes them out."""
    return list(StratifiedKFold(2, shuffle=True, random_state=seed).split(*many()))


def many():
    return np.tile(MOONS, (30, 1)), np.tile(SIDES, 30)


def test_splits_are_known_by_every_place(path):
    settings = {"tying": "shared", "ard": False, "search_size": 60, "checkpoint": path}
    splits = many_splits(0)
    tuned(cv=splits, **settings).fit(*many())
    kept, held_out = splits[0]
    half = len(kept) // 2
    moved = [(kept[:half], held_out), splits[1]]
    with pytest.raises(ValueError, match="other data or other settings"):
        tuned(cv=moved, **settings).fit(*many())


def test_splitter_that_draws_anew_is_refused(path):
    # Its answers would be mixed with those of other folds.
    settings = {"tying": "shared", "ard": False, "cv": ShuffleSplit(3), "checkpoint": path}
    tuned(**settings).fit(X, NAMES)
    with pytest.raises(ValueError, match="other data or other settings"):
        tuned(**settings).fit(X, NAMES)


def test_checkpoint_of_a_growing_search_spans_all_its_sizes(path, forbidden, monkeypatch):
    change_policy(monkeypatch, _search_plan, coarse_size=20, coarse_per_class=5)
    first = tuned(checkpoint=path, ard=False).fit(X, NAMES)
    assert first.trace_[-1].n_points == len(X) > first.trace_[0].n_points
    forbidden()
    assert same(tuned(checkpoint=path, ard=False).fit(X, NAMES), first)


def test_criterion_from_outside_has_a_checkpoint_of_its_own(path):
    with open_journal(path, "data", 0, [(6, Bowl().partition)]) as journal:
        write(journal)
    with open_journal(path, "data", 0, [(6, Bowl().partition)]) as journal:
        assert journal.entries == []
    refused = open_journal(path, "data", 0, [(6, Bowl(n_points=3).partition)])
    with pytest.raises(ValueError, match="other data or other settings"), refused:
        pass
