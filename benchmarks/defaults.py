"""Which default rate and variance give the best test log loss over many sets, standardised and raw.

Rates are c over the total variance of the training inputs, as in `logikern.model.defaults`. A mean of log
losses is ruled by the hard sets, so settings are ranked by the mean regret: log loss over that of the best
setting on the same set and scaling, in nats. The choice is made on test rows, so it is repeated with each set
left out: a choice that changes would be a choice for that set.
"""

import numpy as np

from data import Split, load
from measure import fit, shared
from report import Report, main

RATES = (1.0, 2.0, 4.0, 9.0)
VARIANCES = (3.0, 10.0, 30.0, 100.0)
# Training rows at most: larger ones would only take longer.
ROWS = {"usps": 2000, "letter": 3000, "satimage": 2000, "page_blocks": 1500, "segment": 1500}
SETS = (
    "satimage",
    "segment",
    "usps",
    "letter",
    "digits",
    "wine",
    "glass",
    "breast_cancer",
    "iris",
    "ionosphere",
    "pima",
    "cmc",
    "page_blocks",
    "ripley_synth",
)
QUICK_SETS = ("wine", "glass", "breast_cancer", "iris")


def splits(quick: bool) -> list[Split]:
    """Every set, standardised and raw, named accordingly."""
    result = []
    for name in QUICK_SETS if quick else SETS:
        split = load(name).head(ROWS.get(name, 10**9))
        result += [(f"{name}, standardised", split.standardised()), (f"{name}, raw", split)]
    return [Split(name, split.X, split.y, split.X_test, split.y_test) for name, split in result]


def log_losses(split: Split) -> np.ndarray:
    """Test log loss at every rate and variance, (rates, variances)."""
    losses = np.empty((len(RATES), len(VARIANCES)))
    for row, rate in enumerate(RATES):
        for column, variance in enumerate(VARIANCES):
            specification = shared(split, rate / split.total_variance, variance)
            losses[row, column] = fit(split, specification, precision="auto").scores(split).log_loss
    return losses


def run(report: Report, quick: bool) -> None:
    names, losses = [], []
    for split in splits(quick):
        names.append(split.name)
        losses.append(log_losses(split))
        best = np.unravel_index(losses[-1].argmin(), losses[-1].shape)
        report.progress(
            f"{split.name}: best {losses[-1].min():.4f} at c = {RATES[best[0]]:g}, variance {VARIANCES[best[1]]:g}"
        )
    table = np.array(losses)  # (sets, rates, variances)
    regret = table - table.min(axis=(1, 2), keepdims=True)
    _per_setting(report, names, table, regret)
    _leave_one_out(report, names, regret)
    _per_set(report, names, table)


def _per_setting(report: Report, names: list[str], table: np.ndarray, regret: np.ndarray) -> None:
    raw = np.array([name.endswith("raw") for name in names])
    rows = [
        {
            "c": rate,
            "variance": variance,
            "mean log loss": table[:, row, column].mean(),
            "mean regret": regret[:, row, column].mean(),
            "worst regret": regret[:, row, column].max(),
            "standardised": regret[~raw, row, column].mean(),
            "raw": regret[raw, row, column].mean(),
            "worst set": names[int(regret[:, row, column].argmax())],
        }
        for row, rate in enumerate(RATES)
        for column, variance in enumerate(VARIANCES)
    ]
    rows.sort(key=lambda record: record["mean regret"])
    best = rows[0]
    report.say(
        f"Recommended: RATE = {best['c']:g}, VARIANCE = {best['variance']:g}, "
        f"with mean regret {best['mean regret']:.4f} nats over {len(names)} sets and scalings."
    )
    report.table("Settings by mean regret (nats); the columns after it are regrets too", rows)


def _leave_one_out(report: Report, names: list[str], regret: np.ndarray) -> None:
    bases = np.array([name.split(",")[0] for name in names])
    rows = []
    for base in dict.fromkeys(bases):
        chosen = int(regret[bases != base].mean(axis=0).argmin())
        rate, variance = _settings()[chosen]
        own = regret[bases == base].reshape(-1, regret[0].size)[:, chosen].mean()
        rows.append({"left out": base, "c": rate, "variance": variance, "its regret then": own})
    report.table("The choice without each set", rows)


def _per_set(report: Report, names: list[str], table: np.ndarray) -> None:
    rows = []
    for name, losses in zip(names, table, strict=True):
        row, column = np.unravel_index(losses.argmin(), losses.shape)
        record = {"set": name, "best": losses.min(), "best c": RATES[row], "best variance": VARIANCES[column]}
        for (rate, variance), loss in zip(_settings(), losses.ravel(), strict=True):
            record[f"{rate:g}/{variance:g}"] = loss
        rows.append(record)
    report.table("Test log loss of every set at c/variance", rows)


def _settings() -> list[tuple[float, float]]:
    return [(rate, variance) for rate in RATES for variance in VARIANCES]


if __name__ == "__main__":
    main("defaults", __doc__, run)
