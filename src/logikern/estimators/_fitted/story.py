"""A fit in words: the final model, what it was compared with, its cost, and its plan."""

import textwrap
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from logikern.estimators._fitted.description import describe_model, parameter_terms, sharings_of, word_terms
from logikern.estimators._inputs.alternatives import TITLES
from logikern.estimators._inputs.data import is_precomputed, takes_objects
from logikern.estimators._names.criteria import CRITERIA
from logikern.model import persistence
from logikern.model.neighbourhoods import NeighbourhoodModel
from logikern.numerics.outcome import Outcome
from logikern.reporting.search import plot_search
from logikern.selection.judgement import Verdict
from logikern.selection.search import Record

COLUMNS = 100
FIRST = "for a first model, its criterion plus the prior term is the lowest so far."
# Terms of the table of models.
TERMS = {
    "learned": "number of hyperparameters that the search learned.",
    "criterion": "{criterion}; lower is better. The search minimises it together with a weak prior that keeps "
    "hyperparameters plausible, so it may pass over a model with a lower criterion.",
    "gain": "mean decrease in loss relative to the previously accepted model, on the same held-out rows.",
    "noise": "standard error of the gain.",
    "better": "the gain exceeds the noise, or twice the noise if the model adds kernels; " + FIRST,
    "with the prior": "the criterion alone would have decided otherwise.",
    "requested": "required by the settings, even if it is not better.",
}
# The same terms if models are compared on rows that the search has not seen.
UNSEEN_TERMS = {
    "gain": "mean decrease in loss relative to the previously accepted model, on the same held-out rows. A later "
    "model with a lower criterion is also compared on {n_unseen} rows that the search has not seen, and if it adds "
    "kernels, only on these.",
}
# Why gains on the rows of the search are not differences of the criterion, if it is computed by cross-validation.
CORRECTED = (
    " Unlike the gain, the criterion is corrected for the tolerance of the fits during the search, so even a gain on "
    "the rows of the search may differ slightly from the difference between two criteria."
)
# Stages that learn how classes are related.
STRUCTURE_TERMS = {
    "coupling": "factors that classes share. They are judged on rows that were not used to learn them: rows that the "
    "search has not seen, or each fold in turn. They are better if the gain exceeds twice the noise.",
    "learned tree": "a tree that groups frequently confused classes. It is judged by cross-validation: for each "
    "fold, a tree is learned from the other rows. It is better if the gain exceeds the noise.",
}


class Words(NamedTuple):
    """The word for a class or an output, and the words for the criterion."""

    unit: str
    criterion: str


def explain(fitted: dict[str, Any], words: Words) -> str:
    """The final model, what it was compared with, its cost, and the plan.

    Parameters
    ----------
    fitted : dict
        Attributes of a fitted estimator.
    words : Words
    """
    model, compared, result = _story(fitted, words)
    plan = _plan(fitted)
    terms = _terms(fitted["verdicts_"], fitted, [model, compared, result, *plan], words)
    return _join([model, compared, terms, result, *plan])


def explain_each(headings: list[str], fitted: list[dict[str, Any]], words: Words) -> str:
    """`explain` for several models of the same kind, with the terms and the plan once."""
    sections = []
    for heading, own in zip(headings, fitted, strict=True):
        sections += [[f"{heading}:"], *_story(own, words)]
    plan = _plan(fitted[0])
    terms = _terms(sum((own["verdicts_"] for own in fitted), ()), fitted[0], [*sections, *plan], words)
    return _join([*sections, terms, *plan])


def explain_sequences(fitted: dict[str, Any], described: list[str], n_learned: int, words: Words) -> str:
    """`explain` for a model of sequences, which has one search and no other models to compare with.

    Parameters
    ----------
    fitted : dict
        Attributes of a fitted estimator.
    described : list of str
        The model, one line for each of its parts.
    n_learned : int
        Number of hyperparameters that a search learns.
    words : Words
    """
    records = fitted["trace_"]
    heading = "Final model: fixed hyperparameters, without a search."
    result = [f"Final fit: {_steps(fitted)}, {fitted['n_products_']} kernel products. {fitted['outcome_'].value}"]
    if records:
        is_found = np.isfinite(fitted["criterion_value_"])
        heading = "Final model: the starting values of the search, because the search failed."
        if is_found:
            heading = f"Final model: {n_learned} learned hyperparameters."
        result = [*(_criterion(fitted, records, words) if is_found else []), _cost(records), *result]
    return _join([[heading, *described], ["Result:", *result]])


def _story(fitted: dict[str, Any], words: Words) -> tuple[list[str], list[str], list[str]]:
    """Sections about the model, what it was compared with, and the result; the first line of each is its heading."""
    verdicts, records = fitted["verdicts_"], fitted["trace_"]
    final = next((verdict for verdict in reversed(verdicts) if verdict.kept), None)
    names = fitted["classes_" if "classes_" in fitted else "outputs_"]
    described = describe_model(fitted["model_"].specification, names, words.unit, fitted.get("encoder_"))
    result = [f"Final fit: {_extent(fitted)}. {fitted['outcome_'].value}"]
    if fitted.get("approximation_") is not None:
        result.append(str(fitted["approximation_"]))
    compared = []
    if final is not None:
        result = [*_criterion(fitted, records, words), _cost(records), *result]
        compared = _compared(verdicts, final, records) if len(verdicts) > 1 else []
    return [_heading(final, fitted), *_inputs(fitted), *described], compared, ["Result:", *result]


def _inputs(fitted: dict[str, Any]) -> list[str]:
    """The scale of the inputs, unless the caller scaled them."""
    encoder = fitted.get("encoder_")
    if encoder is None or fitted["inputs"] == "raw" or encoder.is_level.all():
        return []
    return [f"Inputs: {TITLES[encoder.scaling.kind]}."]


def _extent(fitted: dict[str, Any]) -> str:
    """The number of neighbourhoods or steps of the final fit, in words."""
    model = fitted["model_"]
    if isinstance(model, NeighbourhoodModel):
        n_cells = sum(len(member.cells) for member in model.members)
        return f"{n_cells} neighbourhoods in {len(model.members)} partitions"
    return _steps(fitted)


def _steps(fitted: dict[str, Any]) -> str:
    """The number of Newton steps of the final fit, in words."""
    steps = max(0, len(fitted["newton_trace_"]) - 1)
    return f"{steps} step{'' if steps == 1 else 's'}"


def _heading(final: Verdict | None, fitted: dict[str, Any]) -> str:
    if final is not None:
        return f"Final model: {final.stage}, {final.n_parameters} learned hyperparameters."
    if "criterion_method_" in fitted:
        return "Final model: the starting values of the search, because the search failed."
    return "Final model: fixed hyperparameters, without a search."


def _compared(verdicts: tuple[Verdict, ...], final: Verdict, records: tuple[Record, ...]) -> list[str]:
    """A table with a row for each model."""
    own = [record.n_points for record in records if record.stage == verdicts[-1].stage]
    width = max(len("model"), *(len(verdict.stage) for verdict in verdicts))
    decimals = _decimals(*(verdict.value for verdict in verdicts))
    wide = decimals + 3
    lines = [f"{'model':{width}}  learned  criterion  {'gain':>{wide}}  {'noise':>{wide - 1}}"]
    for verdict in verdicts:
        is_first = np.isnan(verdict.gain)
        gain, noise = ("-", "-") if is_first else (f"{verdict.gain:z.{decimals}f}", f"{verdict.noise:.{decimals}f}")
        fate = verdict.fate + " with unseen rows" * (verdict.n_unseen > 0 and not _is_structure(verdict))
        fate += ": final" * (verdict is final)
        told = f"{verdict.n_parameters:7}  {verdict.value:9.{decimals}f}  {gain:>{wide}}  {noise:>{wide - 1}}"
        before = f"{verdict.stage:{width}}  {told}  "
        lines += textwrap.wrap(
            fate.removeprefix("first model: "),
            COLUMNS - 2,
            initial_indent=before,
            subsequent_indent=" " * len(before),
            break_long_words=False,
        )
    return [f"Models compared, on {(own or [_most_rows(records)])[-1]} rows:", *lines]


def _decimals(*values: float) -> int:
    """Enough decimals to tell small losses apart."""
    return 4 if min(map(abs, values)) >= 0.001 else 6


def _criterion(fitted: dict[str, Any], records: tuple[Record, ...], words: Words) -> list[str]:
    """The criterion of the final model, and how far it can be trusted."""
    method = fitted.get("criterion_method_", "")
    by = f" by {method}" if method else ""
    value = fitted["criterion_value_"]
    lines = [
        f"Criterion {value:.{_decimals(value)}f} on {_most_rows(records)} rows{by}: {words.criterion}.",
        "It is optimistic, because the search minimised it. Score new rows for a fair estimate.",
    ]
    if np.isfinite(fitted.get("held_out_error_", np.nan)):
        lines.append(f"Held-out rows: {1 - fitted['held_out_error_']:.1%} of the variance is explained.")
    lines += [fitted["criterion_doubt_"]] if fitted.get("criterion_doubt_") else []
    stopped = fitted.get("stopped_early_", "")
    return [*lines, f"The search ended early: {stopped}."] if stopped else lines


def _most_rows(records: tuple[Record, ...]) -> int:
    """Rows of the last subset of a search, which is the largest; factors are also judged on parts of it."""
    return max(record.n_points for record in records)


def _cost(records: tuple[Record, ...]) -> str:
    seconds = sum(record.seconds for record in records)
    products = sum(record.n_products for record in records)
    failed = sum(not record.usable for record in records)
    told = f"{len(records)} evaluations in {seconds:.1f} s, {products} kernel products"
    return f"Cost of the search: {told}{f', {failed} evaluations failed' if failed else ''}."


def _terms(
    verdicts: tuple[Verdict, ...], fitted: dict[str, Any], sections: list[list[str]], words: Words
) -> list[str]:
    """The meaning of the words in the other sections, if there is a table of models."""
    if all(np.isnan(verdict.gain) for verdict in verdicts):
        return []
    n_unseen = max(verdict.n_unseen for verdict in verdicts if not _is_structure(verdict))
    told = TERMS | (UNSEEN_TERMS if n_unseen else {})
    if fitted.get("criterion_method_") == CRITERIA["cv"].title:
        told["gain"] += CORRECTED
    for term in ("with the prior", "requested"):
        if not any(verdict.fate.endswith(term) for verdict in verdicts):
            del told[term]
    lines = [
        f"{term}: {meaning}".format(criterion=words.criterion, n_unseen=n_unseen) for term, meaning in told.items()
    ]
    found = fitted["model_"].specification
    names = {name for verdict in verdicts for name in verdict.stage.split(", ")}
    sharings = [f"{name}: {sentence}" for name, sentence in sharings_of(found, words.unit).items() if name in names]
    first_words = {_first_word(verdict) for verdict in verdicts}
    structures = [f"{name}: {told}" for name, told in STRUCTURE_TERMS.items() if name in first_words]
    text = "\n".join(sum(sections, []))
    return ["Terms:", *lines, *structures, *sharings, *word_terms(text), *parameter_terms(found.kernels, text)]


def _is_structure(verdict: Verdict) -> bool:
    return _first_word(verdict) in STRUCTURE_TERMS


def _first_word(verdict: Verdict) -> str:
    return verdict.stage.partition(",")[0]


def _plan(fitted: dict[str, Any]) -> list[list[str]]:
    """The plan; empty if the model file does not contain it."""
    return [["Plan, decided before the fit:", *str(fitted["plan_"]).splitlines()]] if "plan_" in fitted else []


def _join(sections: list[list[str]]) -> str:
    """Sections with an empty line between them, in lines of at most `COLUMNS` characters."""
    told = [section for section in sections if section]
    return "\n\n".join("\n".join([section[0], *map(_indented, section[1:])]) for section in told)


def _indented(line: str) -> str:
    if len(line) + 2 <= COLUMNS:
        return f"  {line}"
    return textwrap.fill(line, COLUMNS, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


class SearchStory:
    """Methods of every estimator that explain, draw and save its fit."""

    _words = Words("class", "the mean held-out log loss per row")
    kernel: Any
    verdicts_: tuple[Any, ...]
    trace_: tuple[Any, ...]

    def explain(self) -> str:
        """Describe the final model, the models that it was compared with, and the cost and the plan of the fit."""
        check_is_fitted(self)
        return explain(vars(self), self._words)

    def plot_search(self, ax: Any = None) -> Any:
        """Plot the criterion against the time of the search, and return the matplotlib Axes."""
        check_is_fitted(self)
        if not self.verdicts_:
            raise ValueError("There is no search to draw: hyperparameters were fixed. Fit with a criterion.")
        return plot_search(self.trace_, ax)

    def save_model(self, path: Any) -> None:
        """Write the fitted estimator to a file that `logikern.load_model` reads without running code."""
        check_is_fitted(self)
        persistence.save_model(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = not takes_objects(self.kernel)
        tags.input_tags.allow_nan = not (takes_objects(self.kernel) or is_precomputed(self.kernel))
        tags.input_tags.categorical = tags.input_tags.allow_nan
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return isinstance(getattr(self, "outcome_", None), Outcome)
