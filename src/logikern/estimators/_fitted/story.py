"""The story of a search, in words."""

from typing import Any

from logikern.numerics.temperature import Temperature


def explain(estimator: Any) -> str:
    """What was tried, what it brought, what was kept, and what it cost."""
    if not estimator.verdicts_:
        return "Hyperparameters were fixed: nothing was searched for."
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
    return "\n".join(lines)


def _temperature(found: Temperature) -> list[str]:
    if found.is_neutral:
        return []
    return [f"Inverse temperature: {found.certain:.2f} for certain rows, {found.uncertain:.2f} for uncertain rows."]


def _by(estimator: Any) -> str:
    """How the criterion was computed, unless a model file is too old to tell."""
    method = getattr(estimator, "criterion_method_", "")
    return f" by {method}" if method else ""
