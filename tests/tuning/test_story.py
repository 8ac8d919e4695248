"""What `explain` tells: the final model first, then what it was compared with, every term defined."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from logikern import Gaussian, KernelRegressor, Linear, load_model
from logikern.estimators._fitted.description import parameter_terms
from logikern.selection.growth import Verdict
from tests.tuning.samples import MOONS, NAMES, SIDES, X, default_fit, tuned


def sections(model):
    """Lines of the story by their headings."""
    found = [section.splitlines() for section in model.explain().split("\n\n")]
    return {lines[0].partition(":")[0]: lines for lines in found}


def rows(model):
    """The table of the models that were compared."""
    heading = next(name for name in sections(model) if name.startswith("Models compared"))
    return sections(model)[heading][2:]


def with_verdicts(*verdicts):
    model = copy(default_fit())
    model.verdicts_ = verdicts
    return model


def test_final_model_comes_first_with_its_name_and_size():
    model = default_fit()
    final = [verdict for verdict in model.verdicts_ if verdict.kept][-1]
    first = model.explain().splitlines()[0]
    assert first == f"Final model: {final.stage}, {final.n_parameters} learned hyperparameters."


def test_kernel_is_told_with_its_rate():
    model = tuned(tying="shared", ard=False).fit(X, NAMES)
    assert f"Kernel: Gaussian, rate {model.kernels_[0].rate:.3g} for all inputs." in model.explain()


def test_rates_of_inputs_are_summarised():
    model = tuned(tying="shared", ard=True).fit(X, NAMES)
    rates = np.array(model.kernels_[0].rate)
    told = f"rate from {rates.min():.3g} to {rates.max():.3g} (one per input, largest for input {rates.argmax()}, "
    assert told in " ".join(model.explain().split())


def test_inputs_are_called_by_their_names():
    pandas = pytest.importorskip("pandas")
    model = tuned(tying="shared", ard=True).fit(pandas.DataFrame(X, columns=list("abcd")), NAMES)
    assert f"largest for {'abcd'[np.argmax(model.kernels_[0].rate)]}" in " ".join(model.explain().split())


def test_columns_of_several_inputs_are_called_columns_by_their_names():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=list("abcd"))
    table.insert(0, "constant", 1.0)  # has no input, and therefore no rate
    table.insert(2, "letter", np.array(["x", "y", "z"])[np.arange(len(X)) % 3])
    model = tuned(tying="shared", ard=True).fit(table, NAMES)
    rates = dict(zip(["a", "letter", "b", "c", "d"], model.kernels_[0].rate, strict=True))
    told = " ".join(model.explain().split())
    assert f"one per column, largest for {max(rates, key=rates.get)}, " in told
    frame = model.hyperparameters_
    assert frame["name"].tolist()[:5] == [f"rate[{name}]" for name in rates]


@pytest.mark.parametrize(
    "kernel, told",
    [
        (Gaussian(0.5) + Linear(), "Kernel: Sum of Gaussian and Linear, left.rate 0.5."),
        (Linear(), "Kernel: Linear."),
        ("rational_quadratic", "Kernel: RationalQuadratic, rate "),
    ],
    ids=["sum", "no parameters", "two parameters"],
)
def test_any_kernel_is_told(kernel, told):
    assert told in tuned(kernel, criterion=None).fit(X, NAMES).explain()


SHARING = {
    "shared": "All classes share one kernel and one variance.",
    "scaled": "All classes share one kernel; each class has its own variance.",
    "separate": "Each class has its own kernel and variance.",
}
TREE = {"setosa": "other", "versicolor": "pair", "virginica": "pair"}
TREE_SHARING = {
    "shared": "All nodes of the tree share one kernel and one variance.",
    "level": "All nodes of the tree share one kernel; each level has its own variance.",
    "scaled": "All nodes of the tree share one kernel; each node has its own variance.",
    "separate": "Each level of the tree has its own kernel and variance.",
}
WIDE_TREE = {"setosa": "other", "fourth": "other", "versicolor": "pair", "virginica": "pair"}
LEAF_SHARING = {
    "leaf": "All nodes of the tree share one kernel; each level of inner nodes and each leaf has its own variance.",
    "leaves": "Each level of inner nodes and each leaf has its own kernel and variance.",
}


@pytest.mark.parametrize("tying", SHARING)
def test_tying_is_told_in_words(tying):
    assert SHARING[tying] in tuned(criterion=None, tying=tying).fit(X, NAMES).explain()


def test_groups_of_classes_are_counted():
    told = tuned(criterion=None, tying=["a", "b", "a"]).fit(X, NAMES).explain()
    assert "The classes are grouped, with 2 kernels and 2 variances in total." in told
    assert "(setosa, virginica)" in told


@pytest.mark.parametrize("tying", TREE_SHARING)
def test_tying_of_a_tree_is_told_in_words(tying):
    assert TREE_SHARING[tying] in tuned(criterion=None, tying=tying, hierarchy=TREE).fit(X, NAMES).explain()


@pytest.mark.parametrize("tying", LEAF_SHARING)
def test_tying_of_leaves_is_told_in_words(tying):
    model = tuned(criterion=None, tying=tying, hierarchy=WIDE_TREE).fit(X, NAMES)
    assert LEAF_SHARING[tying] in " ".join(model.explain().split())


def test_variances_are_told_with_their_classes():
    model = tuned(criterion=None, tying="scaled", variance=[1, 20, 300]).fit(X, NAMES)
    assert "Variances: 1 (setosa), 20 (versicolor), 300 (virginica). Bias variance: 16." in model.explain()


def test_many_variances_are_a_range():
    model = tuned(criterion=None, tying="scaled", variance=range(1, 11)).fit(X[:50], np.arange(50) % 10)
    assert "Variances: 10 values from 1 to 10." in model.explain()


@pytest.mark.parametrize("bias_variance, told", [(0, "There are no biases."), (np.inf, "Biases are not penalised.")])
def test_special_constants_are_told(bias_variance, told):
    assert told in tuned(criterion=None, bias_variance=bias_variance).fit(X, NAMES).explain()


def test_table_has_a_row_for_every_model():
    model = default_fit()
    for row, verdict in zip(rows(model), model.verdicts_, strict=True):
        assert row.split()[: len(verdict.stage.split())] == verdict.stage.split()
        assert f"{verdict.n_parameters}" in row and f"{verdict.value:.4f}" in row


def test_only_one_model_is_called_final():
    model = with_verdicts(
        Verdict("shared", 2, 0.5, np.nan, np.nan, True, "first model"),
        Verdict("scaled", 4, 0.4, 0.1, 0.02, True, "better"),
        Verdict("separate", 6, 0.39, 0.01, 0.02, False, "not better"),
    )
    fates = [row.split("  ")[-1] for row in rows(model)]
    assert fates == ["first model", "better: final", "not better"]


def test_first_stage_may_have_alternatives():
    model = with_verdicts(
        Verdict("Gaussian, shared", 2, 0.5, np.nan, np.nan, True, "first model"),
        Verdict("Laplacian, shared", 2, 0.4, 0.1, 0.02, True, "better"),
        Verdict("ranks, shared", 2, 0.9, -0.5, 0.1, False, "not better"),
    )
    assert model.explain().startswith("Final model: Laplacian, shared, 2 learned hyperparameters.")
    assert [row.split("  ")[-1] for row in rows(model)] == ["first model", "better: final", "not better"]


def test_small_losses_are_told_apart():
    model = with_verdicts(
        Verdict("shared", 2, 2.4e-5, np.nan, np.nan, True, "first model"),
        Verdict("scaled", 4, 1.1e-5, 1.3e-5, 2e-6, True, "better"),
    )
    model.criterion_value_ = 1.1e-5
    assert "0.000011" in rows(model)[-1] and "0.000013" in rows(model)[-1]
    assert "Criterion 0.000011 on" in model.explain()


def test_model_that_settings_demand_is_told_so():
    model = with_verdicts(
        Verdict("shared", 2, 0.5, np.nan, np.nan, True, "first model"),
        Verdict("scaled", 4, 0.6, -0.1, 0.02, True, "requested"),
    )
    assert rows(model)[-1].endswith("requested: final") and "requested: required by" in model.explain()


def test_gains_on_unseen_rows_are_told_so():
    model = with_verdicts(
        Verdict("shared", 2, 0.5, np.nan, np.nan, True, "first model"),
        Verdict("scaled", 4, 0.4, -0.01, 0.02, False, "not better", 300),
    )
    assert "compared on 300 rows that the search has not seen" in " ".join(model.explain().split())
    assert rows(model)[-1].endswith("not better with unseen rows")


def test_prior_that_decides_is_told_and_defined():
    model = with_verdicts(
        Verdict("Gaussian, shared", 2, 0.5, np.nan, np.nan, True, "first model"),
        Verdict("Laplacian, shared", 2, 0.51, -0.01, 0.02, True, "better with the prior"),
    )
    assert rows(model)[-1].endswith("better with the prior: final")
    assert any(line.strip().startswith("with the prior: ") for line in sections(model)["Terms"])
    assert "with the prior: " not in default_fit().explain()


@pytest.mark.parametrize(
    "inputs, told",
    [("standard", "Inputs: standardised."), ("ranks", "Inputs: ranks."), ("auto", "Inputs: unscaled.")],
)
def test_scale_of_the_inputs_is_told(inputs, told):
    assert told in tuned(criterion=None, inputs=inputs).fit(X, NAMES).explain().splitlines()[1]


def test_scale_that_the_caller_chose_is_not_told():
    assert "Inputs: " not in tuned(inputs="raw").fit(X, NAMES).explain()


def test_scale_that_won_is_told():
    model = tuned(inputs="auto", tying="shared", ard=False).fit(X * [1e-6, 1e3, 1e6, 1.0], NAMES)
    won = next(verdict.stage for verdict in reversed(model.verdicts_) if verdict.kept).split(", ")[0]
    assert sections(model)["Final model"][1].strip() == f"Inputs: {won}."


def test_rows_of_the_table_are_not_wrapped():
    model = with_verdicts(
        Verdict("Gaussian + Laplacian, standardised, shared", 4, 0.5, np.nan, np.nan, True, "first model"),
        Verdict("scaled", 6, 0.4, 0.1, 0.02, True, "requested"),
    )
    assert len(rows(model)) == 2


def test_long_verdict_continues_below_its_beginning():
    model = with_verdicts(
        Verdict("shared", 4, 0.5, np.nan, np.nan, True, "first model"),
        Verdict("Gaussian + Laplacian, standardised, shared", 6, 0.4, 0.1, 0.02, True, "better", 300),
    )
    _, line, *others = rows(model)
    assert others and {len(rest) - len(rest.lstrip()) for rest in others} == {line.index("better")}


def is_defined(term, model):
    return any(line.startswith(f"  {term}: ") for line in sections(model)["Terms"])


def terms_of(model):
    return " ".join(" ".join(sections(model)["Terms"]).split())


TERMS = ["learned", "criterion", "gain", "noise", "better", "shared", "rate", "variance", "bias variance"]
WORDS = ["first model", "rate per column", "kernel product", "tolerance"]
FIRST_MODELS = ["Gaussian", "Laplacian", "Gaussian + Laplacian", "standardised", "ranks"]


@pytest.mark.parametrize("term", [*TERMS, *WORDS])
def test_every_term_of_the_table_is_defined(term):
    assert is_defined(term, default_fit())


@pytest.mark.parametrize("term", FIRST_MODELS)
def test_every_word_in_the_name_of_a_first_model_is_defined(term):
    model = with_verdicts(
        Verdict("Gaussian + Laplacian, standardised, shared", 4, 0.5, np.nan, np.nan, True, "first model"),
        Verdict("Laplacian, ranks, shared", 2, 0.4, 0.1, 0.02, True, "better"),
    )
    assert is_defined(term, model)


def test_words_that_do_not_occur_are_not_defined():
    assert not any(is_defined(term, default_fit()) for term in ["Laplacian", "standardised", "ranks", "unscaled"])


def test_parameter_that_only_the_plan_names_is_defined():
    named = "Start: kernel GaussianLaplacian(rate=1.0, roughness=2.0, share=1.0)"
    found = [term.partition(":")[0] for term in parameter_terms((Gaussian(),), named)]
    assert found == ["rate", "roughness", "share", "variance", "bias variance"]


def test_gain_by_cross_validation_is_told_to_differ_from_the_difference_of_criteria():
    assert "may differ slightly from the difference between two criteria" in terms_of(default_fit())


def test_gain_by_leave_one_out_is_the_difference_of_criteria():
    model = tuned(criterion="loo").fit(X, NAMES)
    first, second = model.verdicts_[:2]
    assert second.gain == pytest.approx(first.value - second.value, abs=1e-12)  # rounding
    assert "the difference between two criteria" not in terms_of(model)


def test_criterion_is_told_and_called_optimistic():
    model = default_fit()
    told = f"Criterion {model.criterion_value_:.4f} on {len(X)} rows by cross-validation: the mean held-out log loss"
    assert told in model.explain() and "It is optimistic, because the search minimised it." in model.explain()


def test_evaluations_are_counted():
    model = default_fit()
    assert f"{len(model.trace_)} evaluations" in model.explain() and "failed" not in model.explain()


def test_failed_evaluations_are_counted():
    model = copy(default_fit())
    model.trace_ = tuple(replace(record, usable=record.evaluation > 3) for record in model.trace_)
    assert "3 evaluations failed" in model.explain()


def test_outcome_and_plan_come_last():
    model = default_fit()
    assert model.outcome_.value in sections(model)["Result"][-1]
    assert list(sections(model))[-1] == "Plan, decided before the fit"


def test_early_end_is_told():
    with pytest.warns(ConvergenceWarning):
        model = tuned(max_time=1e-6).fit(X, NAMES)
    assert "The search ended early: the time limit was reached." in model.explain()


def test_search_without_a_result_is_told():
    assert with_verdicts().explain().startswith("Final model: the starting values of the search")


def test_fixed_hyperparameters_have_no_search_to_tell():
    told = tuned(criterion=None).fit(X, NAMES).explain()
    assert "without a search" in told and "Models compared" not in told and "Criterion" not in told


def test_single_model_is_not_compared():
    told = tuned(tying="shared", ard=False).fit(X, NAMES).explain()
    assert "Models compared" not in told and "Terms" not in told


def test_lines_are_short():
    assert max(map(len, default_fit().explain().splitlines())) <= 100


def test_model_file_tells_the_same(tmp_path):
    pytest.importorskip("skops")
    default_fit().save_model(tmp_path / "model")
    assert load_model(tmp_path / "model").explain() == default_fit().explain()


def test_models_of_one_vs_rest_are_told_with_terms_and_plan_once():
    told = tuned(one_vs_rest=True).fit(X, NAMES).explain()
    assert all(f"{name} against the rest:" in told for name in np.unique(NAMES))
    assert told.count("Final model: ") == 3 and told.count("Terms:") == told.count("Plan, decided") == 1


def test_regression_tells_outputs_and_explained_variance():
    outputs = np.column_stack([MOONS.sum(axis=1), SIDES])
    told = KernelRegressor(random_state=0).fit(MOONS, outputs).explain()
    assert "All outputs share one kernel and one variance." in told and "of the variance is explained" in told
    assert "half the log of (mean squared" in " ".join(told.split())


def test_regression_of_one_number_shares_nothing():
    assert "One kernel and one variance." in KernelRegressor(random_state=0).fit(MOONS, SIDES).explain()
