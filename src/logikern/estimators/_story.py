"""The story of a search, in words."""

from typing import Any

from logikern.numerics.sharpness import Sharpness


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
    lines += _sharpness(estimator.model_.specification.sharpness)
    lines.append(f"Final fit: {len(estimator.newton_trace_) - 1} steps. {estimator.outcome_.value}")
    return "\n".join(lines)


def _sharpness(found: Sharpness) -> list[str]:
    if found.is_neutral:
        return []
    return [f"Latents count {found.certain:.2f} times where a row is certain, {found.uncertain:.2f} times where not."]


def _by(estimator: Any) -> str:
    """How the criterion was computed, unless a model file is too old to tell."""
    method = getattr(estimator, "criterion_method_", "")
    return f" by {method}" if method else ""
