"""Which model is kept: verdicts on criteria whose gain is known."""

from dataclasses import replace

import numpy as np
import pytest

from logikern.kernels import Gaussian
from logikern.selection.growth import RELEVANCE, _Growth, learn, plan_tyings
from logikern.selection.journal import Journal, read
from logikern.selection.prior import NormalPrior
from logikern.selection.search import Task, free_parameters, minimise
from logikern.structure.mixing import Flat
from logikern.structure.tying import tie
from tests.selection.samples import EXACT, N_LOSSES, Bowl, Fixed, first_model, grow_on, log, plan, rung, start
from tests.structure.trees import TREES

BEFORE = np.linspace(0.5, 1.5, N_LOSSES)


@pytest.fixture(autouse=True)
def faint_prior(faint_priors):
    """Minima are where the criterion has them."""


def grow(criterion, own_plan, own_log=None, effort=EXACT, seed=0):
    return grow_on([rung(criterion)], own_plan, own_log, effort, seed)


def compare(gain, noise, **settings):
    """Shared against separate, where separate saves `gain` of each loss, with that standard error."""
    alternating = np.resize([1.0, -1.0], N_LOSSES) * noise * (N_LOSSES - 1) ** 0.5
    criterion = Fixed({1: BEFORE, 3: BEFORE - gain + alternating})
    return grow(criterion, plan("shared", "separate", **settings))


@pytest.mark.parametrize(
    "gain, noise, kept",
    [
        (0.01, 0.0, True),
        (0.03, 0.04, False),
        (0.03, 0.02, False),
        (0.05, 0.02, True),
        (0.0, 0.0, False),
        (-0.1, 0.0, False),
    ],
)
def test_gain_of_more_kernels_must_exceed_twice_the_noise(gain, noise, kept):
    learned = compare(gain, noise)
    assert learned.verdicts[-1].kept is kept
    assert (len(learned.specification.kernels) == 3) is kept


def test_value_is_that_of_the_model_kept():
    assert compare(0.01, 0.02).value == pytest.approx(1.0) and compare(0.05, 0.0).value == pytest.approx(0.95)


def test_model_asked_for_is_kept_whatever_it_gains():
    assert len(compare(-0.1, 0.0, compare=False).specification.kernels) == 3


def test_first_verdict_has_no_gain():
    first = compare(0.05, 0.0).verdicts[0]
    assert first.kept and np.isnan(first.gain) and first.stage == "shared"


def test_verdicts_count_the_parameters():
    assert [verdict.n_parameters for verdict in compare(0.05, 0.0).verdicts] == [2, 6]


def test_bias_variance_learned_is_counted():
    assert [verdict.n_parameters for verdict in compare(0.05, 0.0, learn_bias=True).verdicts] == [3, 7]


def test_first_stage_is_named_as_planned():
    own = log()
    first = first_model([rung(Bowl())], start("separate"))
    learned = learn([first], plan("separate"), 1, EXACT, own, np.random.default_rng(0))
    assert {record.stage for record in own.records} == {learned.verdicts[0].stage} == {"separate"}


def test_each_stage_begins_at_the_optimum_of_the_one_kept():
    own = log()
    grow(Bowl(), plan("shared", "separate", compare=False), own)
    first = next(record for record in own.records if record.stage == "separate")
    # Two more rates, each at its minimum already.
    assert first.value == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("finer", ["scaled", "separate"])
def test_optimum_is_not_computed_again_for_other_ties_of_variances(finer):
    seen = []
    criterion = Bowl(usable=lambda rates, variances: seen.append((len(rates), *variances)) or True)
    own = log()
    learned = grow(criterion, plan("shared", finer, compare=False), own)
    # Kernels of their own have derivatives of their own: there the optimum of the first model is taken once more.
    assert len(seen) - len({point[1:] for point in seen}) == (finer == "separate")
    assert learned.specification.log_parameters[-4:-1] == pytest.approx(2.0, abs=1e-3)


def test_known_answer_leads_where_a_computed_one_does():
    """Whatever it is known from: the same functions, tied in another way."""
    origin, here, task = start("scaled"), rung(Bowl(log_variance=-1.0)), Task("any", NormalPrior(1e6), np.zeros(5))
    free = free_parameters(origin, False)
    computed = minimise(origin, free, here, EXACT, task, log())
    alone = replace(EXACT, max_evaluations=1)
    of_one = replace(task, centre=np.zeros(3))
    known = minimise(start(), free_parameters(start(), False), here, alone, of_one, log())
    again = minimise(origin, free, here, EXACT, task, log(), known=known)
    assert again.specification.log_parameters.tolist() == computed.specification.log_parameters.tolist()


@pytest.mark.parametrize(
    "tying, excluded, names",
    [
        ("auto", (), ["shared", "scaled", "separate"]),
        ("auto", ("separate",), ["shared", "scaled"]),
        ("auto", ("scaled", "separate"), ["shared"]),
        ("shared", (), ["shared"]),
        ("scaled", ("separate",), ["shared", "scaled"]),
        ("separate", ("separate",), ["shared", "separate"]),
        (["a", "b", "a"], (), ["shared", "groups"]),
        (["a", "a", "a"], (), ["shared"]),
    ],
)
def test_path_of_growth(tying, excluded, names):
    assert [name for name, _ in plan_tyings(tying, Flat(3), excluded)] == names


def test_names_of_the_same_model_are_tried_once():
    # One level: a variance per level is one for all, and a kernel per level is one for all.
    assert [name for name, _ in plan_tyings("auto", TREES["of depth one"])] == ["shared", "leaf", "leaves"]


def test_path_of_growth_ends_at_what_is_asked_for():
    assert plan_tyings(["a", "b", "a"], Flat(3))[-1][1] == tie(["a", "b", "a"], Flat(3))


@pytest.mark.parametrize("tying", ["seperate", ["a", "b"]])
def test_what_is_no_tying_is_refused(tying):
    with pytest.raises(ValueError, match="`tying`"):
        plan_tyings(tying, Flat(3))


@pytest.mark.parametrize("n_starts", [1, 2, 4])
def test_every_start_is_searched_from(n_starts):
    own = log()
    grow(Bowl(), plan(n_starts=n_starts), own, replace(EXACT, max_evaluations=1))
    assert len(own.records) == n_starts


def test_first_start_is_the_one_given():
    own = log()
    grow(Bowl(), plan(n_starts=3), own, replace(EXACT, max_evaluations=1))
    np.testing.assert_array_equal(own.journal.entries[0].point, [0.0, 0.0])


def test_best_start_wins():
    own = log()
    learned = grow(Bowl(), plan(n_starts=5), own, replace(EXACT, max_evaluations=1))
    values = [record.value for record in own.records]
    assert learned.value == min(values) < values[0]


def second_start(seed):
    own = log()
    grow(Bowl(), plan(n_starts=2), own, replace(EXACT, max_evaluations=1), seed=seed)
    return own.journal.entries[1].point.tolist()


def test_further_starts_follow_the_generator():
    assert second_start(3) == second_start(3) != second_start(4)


def test_nothing_is_learned_where_no_start_is_usable():
    assert grow(Bowl(usable=lambda rates, variances: False), plan("shared", "separate")) is None


def test_later_start_helps_where_the_first_is_unusable():
    # The first start and its retreats keep the rate.
    learned = grow(Bowl(usable=lambda rates, variances: rates[0] != 0.0), plan(n_starts=2))
    assert learned is not None


def test_stage_that_is_unusable_leaves_the_model_before_it():
    criterion = Bowl(usable=lambda rates, variances: len(rates) == 1)
    learned = grow(criterion, plan("shared", "separate"))
    assert len(learned.specification.kernels) == 1 and len(learned.verdicts) == 1


def interrupt_at(number):
    def before(now):
        if now == number:
            raise KeyboardInterrupt

    return before


def test_interruption_ends_all_stages():
    own = log()
    learned = grow(Bowl(before=interrupt_at(3)), plan("shared", "scaled", "separate", n_starts=3), own)
    assert len(own.records) == 2 and learned.value == min(record.value for record in own.records)


def test_interruption_in_a_later_stage_keeps_the_model_before_it():
    whole = log()
    grow(Bowl(), plan(), whole)
    learned = grow(Bowl(before=interrupt_at(len(whole.records) + 1)), plan("shared", "separate"))
    assert len(learned.specification.kernels) == 1


@pytest.mark.parametrize("number", [1, 4, 12, 15])
def test_growth_cut_off_anywhere_ends_at_the_same_model(tmp_path, number):
    own_plan = plan("shared", "scaled", "separate", compare=False, n_starts=2)
    whole = grow(Bowl(), own_plan)
    grow(Bowl(before=interrupt_at(number)), own_plan, log(journal=Journal(tmp_path / "part", "mark")))
    resumed = grow(Bowl(), own_plan, log(journal=read(tmp_path / "part", "mark")))
    assert resumed.specification == whole.specification and resumed.value == whole.value


def finish(second, own=None):
    own = log() if own is None else own
    rungs = [rung(Bowl()), replace(rung(second), n_points=60)]
    return grow_on(rungs, plan(), own), own


def test_larger_arena_has_the_last_word():
    learned, _ = finish(Bowl(log_rate=1.5))
    assert learned.specification.log_parameters[0] == pytest.approx(1.5, abs=1e-3)


def test_larger_arena_is_named_by_its_points():
    _, own = finish(Bowl())
    assert own.records[-1].stage == "finish on 60 rows" and own.records[-1].n_points == 60


def test_larger_arena_begins_at_what_was_kept():
    _, own = finish(Bowl())
    first = next(record for record in own.records if record.n_points == 60)
    assert first.value == pytest.approx(1.0, abs=1e-3)


def test_larger_arena_that_fails_leaves_what_was_kept():
    learned, _ = finish(Bowl(usable=lambda rates, variances: False))
    assert learned.specification.log_parameters[0] == pytest.approx(1.0, abs=1e-3)


def test_larger_arena_points_to_the_rates_of_all_points():
    rungs = [rung(Bowl(log_rate=1.0)), replace(rung(Bowl(log_rate=1.5)), n_points=60)]
    learned = grow_on(rungs, plan(n_points=240))
    assert learned.specification.log_parameters[0] > 1.8


def test_rates_do_not_grow_from_an_arena_that_was_not_searched_to_its_end():
    rungs = [rung(Bowl(log_rate=1.0)), replace(rung(Bowl(log_rate=1.5, before=interrupt_at(3))), n_points=60)]
    own = log()
    learned = grow_on(rungs, plan(n_points=240), own)
    assert own.stopped and learned.value == min(record.value for record in own.records if record.n_points == 60)
    assert 1.0 < learned.specification.log_parameters[0] <= 1.51


# --- the first model goes to the last rung before it grows ---


def approach(*log_variances, names=("shared",), n_points=None, **of_last):
    """On rungs with so many points, each with another best variance."""
    own = log()
    sizes = [20, 50, 125][: len(log_variances)]
    criteria = [Bowl(log_variance=value) for value in log_variances[:-1]]
    criteria.append(Bowl(log_variance=log_variances[-1], **of_last))
    rungs = [replace(rung(criterion), n_points=size) for criterion, size in zip(criteria, sizes, strict=True)]
    own_plan = plan(*names, compare=False, grow_last=True, n_points=sizes[-1] if n_points is None else n_points)
    return grow_on(rungs, own_plan, own), own


def stages(own):
    return list(dict.fromkeys((record.stage, record.n_points) for record in own.records))


def test_only_the_last_arena_sees_finer_models():
    _, own = approach(1.0, 1.0, 1.0, names=("shared", "separate"))
    names = ["shared", "shared on 50 rows", "shared on 125 rows", "separate"]
    assert stages(own) == list(zip(names, [20, 50, 125, 125], strict=True))


def test_variances_are_those_of_the_last_arena():
    learned, _ = approach(3.0, 2.0, 0.5, names=("shared", "scaled"))
    assert np.log(learned.specification.variances) == pytest.approx(0.5, abs=1e-3)


def test_arenas_on_the_way_point_to_the_next():
    _, own = approach(3.0, 2.0, 1.0)
    first = next(record for record in own.records if record.n_points == 125)
    assert first.value == pytest.approx(min(record.value for record in own.records), abs=1e-3)


def test_what_is_learned_goes_on_to_all_points():
    learned, _ = approach(3.0, 2.0, n_points=125)
    assert np.log(learned.specification.variances) == pytest.approx(1.0, abs=1e-3)


def test_arena_on_the_way_that_fails_leaves_the_one_before():
    learned, own = approach(3.0, 2.0, 1.0, usable=lambda rates, variances: False)
    assert learned.verdicts[0].value == min(record.value for record in own.records if record.n_points == 50)


def test_nothing_follows_from_an_arena_that_was_not_searched_to_its_end():
    _, whole = approach(3.0, 2.0)
    number = sum(record.n_points == 50 for record in whole.records)
    learned, own = approach(3.0, 2.0, n_points=125, before=interrupt_at(number))
    assert learned.value == min(record.value for record in own.records if record.n_points == 50)
    assert np.log(learned.specification.variances) == pytest.approx(2.0, abs=0.1)


def test_variances_do_not_grow_from_a_finer_model_that_was_not_searched_to_its_end():
    of_classes = np.array([-1.0, 2.0, 5.0])
    _, whole = approach(3.0, of_classes)
    number = 2 + sum(record.n_points == 50 for record in whole.records)
    learned, own = approach(3.0, of_classes, names=("shared", "scaled"), n_points=125, before=interrupt_at(number))
    assert own.stopped and own.records[-1].stage == "scaled" and len(learned.specification.variances) == 3
    assert np.mean(np.log(learned.specification.variances)) == pytest.approx(2.0, abs=0.1)


def test_rates_of_columns_are_not_split_twice():
    origin = replace(start(), kernels=(Gaussian((1.0, 2.0)),))
    own, first = log(), first_model([rung(Bowl())], origin)
    learn([first], plan(relevance=True), 1, EXACT, own, np.random.default_rng(0))
    assert {record.stage for record in own.records} == {"shared"}


@pytest.mark.parametrize("kept", [True, False])
def test_kernels_per_class_follow_only_where_rates_of_columns_are_not_kept(kept):
    own_plan = plan("shared", "scaled", "separate", relevance=True)
    growth = _Growth(own_plan, EXACT, log(), first_model([rung(Bowl())]))
    growth.begin(np.random.default_rng(0))
    tried = []
    for name, candidate, _ in growth.candidates():
        tried.append(name)
        if name == RELEVANCE and kept:
            growth.best = replace(growth.best, specification=candidate)
    assert tried == list(own_plan.stages[1:3] if kept else own_plan.stages[1:])


def test_first_model_without_an_origin_is_not_tried():
    own = log()
    other = replace(first_model([rung(Bowl())], name="other"), origin=lambda best, best_start: None)
    learned = learn([first_model([rung(Bowl())], name="one"), other], plan(), 1, EXACT, own, np.random.default_rng(0))
    assert [verdict.stage for verdict in learned.verdicts] == ["one, shared"]
