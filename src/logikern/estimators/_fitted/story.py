"""A fit in words: its plan, the stages of its search, and their cost."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from logikern.estimators._inputs.data import is_precomputed, takes_objects
from logikern.model import persistence
from logikern.numerics.outcome import Outcome
from logikern.numerics.temperature import Temperature
from logikern.report.search import plot_search


def explain(estimator: Any) -> str:
    """The stages that were tried, their gains, which were kept, their cost, and the plan behind it all."""
    plan = [f"Plan.\n{estimator.plan_}"] if hasattr(estimator, "plan_") else []
    if not estimator.verdicts_:
        return "\n".join(["Hyperparameters were fixed: nothing was searched for.", *plan])
    records = estimator.trace_
    seconds = sum(record.seconds for record in records)
    products = sum(record.n_products for record in records)
    unusable = sum(not record.usable for record in records)
    lines = [str(verdict) for verdict in estimator.verdicts_]
    lines.append(
        f"{len(records)} evaluations in {seconds:.1f} s ({products} kernel products, {unusable} without use); "
        f"criterion {estimator.criterion_value_:.4f} on {records[-1].n_points} points{_by(estimator)}."
    )
    lines += [estimator.criterion_doubt_] if getattr(estimator, "criterion_doubt_", "") else []
    lines += _temperature(estimator.model_.specification.temperature)
    lines.append(f"Final fit: {len(estimator.newton_trace_) - 1} steps. {estimator.outcome_.value}")
    return "\n".join([*lines, *plan])


def _temperature(found: Temperature) -> list[str]:
    if found.is_neutral:
        return []
    return [f"Inverse temperature: {found.certain:.2f} for certain rows, {found.uncertain:.2f} for uncertain rows."]


def _by(estimator: Any) -> str:
    """How the criterion was computed, unless a model file is too old to tell."""
    method = getattr(estimator, "criterion_method_", "")
    return f" by {method}" if method else ""


class SearchStory:
    """What every estimator tells about its fit, and how it is kept."""

    kernel: Any
    verdicts_: tuple[Any, ...]
    trace_: tuple[Any, ...]

    def explain(self) -> str:
        """The plan of the fit, the stages of the search with their gains, and which were kept, in words."""
        check_is_fitted(self)
        return explain(self)

    def plot_search(self, ax: Any = None) -> Any:
        """Draw the criterion over the time of the search; returns the matplotlib Axes."""
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
