"""200 random settings from a cold start with the default budget: every one must converge.

Variance log-uniform in [1e-2, 1e4], rate log-uniform in [1e-3, 1e2] over the inputs' total variance; half of
them with one shared kernel, half with a kernel and a variance for each class, drawn apart; 40 settings each on
iris, wine, glass, segment and 1000 rows of satimage, standardised. Wanted: gradient 1e-4 in double precision
and agreement with the exact solver, 1e-2 in single precision. Single precision is asked for 1e-4 too, and
judged by what it reached. The exact solver starts cold up to 500 rows; above, it starts from Newton's latents
and so needs one or two of its O(C n^3) steps: the optimum is unique, whatever the start.

At a new point an error of the dual is multiplied by the variance, so probabilities agree less well than duals
where the variance is large; both are given. A third fit, asked for a gradient of 1e-8, shows that such
differences are a matter of when to stop.

Harder, without a promise: variances in [1e4, 1e6], and 2000 rows of usps.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from data import Split, load
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.structure.specification import Specification
from measure import Fit, bind, fit, separate, shared, solve
from report import Report, Row, main

VARIANCES = (1e-2, 1e4)
HARDER_VARIANCES = (1e4, 1e6)
RATES = (1e-3, 1e2)
SETS = {"iris": 10**9, "wine": 10**9, "glass": 10**9, "segment": 10**9, "satimage": 1000}
PER_SET = 40
COLD_UP_TO = 500
# Kind of fit: precision, gradient wanted, gradient asked for.
KINDS = {
    "double": ("double", 1e-4, 1e-4),
    "single": ("single", 1e-2, 1e-4),
    "tight": ("double", 1e-8, 1e-8),
}
PROMISED = ("double", "single")
# A fit that stops at a gradient of 1e-4 is about that far from the optimum; ten times it is a disagreement.
AGREEMENT = {"double": 1e-3, "tight": 1e-6}


@dataclass(frozen=True, eq=False)
class Setting:
    """A set and hyperparameters drawn for it."""

    split: Split
    specification: Specification
    label: str


def draw_settings(split: Split, count: int, variances: tuple[float, float], seed: int) -> list[Setting]:
    """Shared and separate kernels in turn."""
    random = np.random.default_rng(seed)
    settings = []
    for number in range(count):
        size = 1 if number % 2 == 0 else split.n_classes
        rate = np.exp(random.uniform(*np.log(RATES), size)) / split.total_variance
        variance = np.exp(random.uniform(*np.log(variances), size))
        tied = shared(split, rate[0], variance[0]) if size == 1 else separate(split, rate, variance)
        kind = "shared" if size == 1 else "separate"
        values = [f"{_span(rate * split.total_variance)} / total", f"variance {_span(variance)}"]
        settings.append(Setting(split, tied, f"{split.name} #{number} {kind}, rate {', '.join(values)}"))
    return settings


def _span(values: np.ndarray) -> str:
    return f"{values[0]:.2g}" if len(values) == 1 else f"{values.min():.2g}..{values.max():.2g}"


def exact_optimum(setting: Setting, fitted: Fit) -> Fit:
    """The fit of the exact solver."""
    split = setting.split
    start = fitted.result.latent if len(split.y) > COLD_UP_TO else None
    result = solve(split, bind(split, setting.specification), Exact(), start)
    return replace(fitted, model=replace(fitted.model, dual=result.dual[0]), result=result)


def differences(split: Split, fitted: Fit, exact: Fit) -> Row:
    """Largest differences in the dual and in test probabilities."""
    points = split.X_test[:1000]
    apart = exact.probabilities(points) - fitted.probabilities(points)
    return {
        "dual difference": float(np.abs(exact.result.dual - fitted.result.dual).max()),
        "probability difference": float(np.abs(apart).max()),
    }


def try_setting(setting: Setting, compare: bool) -> list[Row]:
    """Rows for double and single precision, and for the fit that goes on to a gradient of 1e-8."""
    rows, fits = [], []
    for kind, (precision, wanted, tolerance) in KINDS.items():
        solver = Newton(tolerance=tolerance)
        fitted = fit(setting.split, setting.specification, solver, precision)
        fits.append(fitted)
        rows.append(
            {
                "setting": setting.label,
                "kind": kind,
                "met": fitted.gradient <= wanted,
                "gradient": fitted.gradient,
                "steps": fitted.steps,
                "products": fitted.products,
                "outcome": fitted.outcome,
            }
        )
    if compare:
        exact = exact_optimum(setting, fits[0])
        for row, fitted in zip(rows, fits, strict=True):
            row |= differences(setting.split, fitted, exact) | {"exact gradient": exact.gradient}
    return rows


def quantiles(rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """One record per quantity."""
    levels = {"least": 0, "25 %": 25, "median": 50, "75 %": 75, "90 %": 90, "95 %": 95, "99 %": 99, "most": 100}
    records = []
    for key in keys:
        values = [row[key] for row in rows if key in row]
        if values:
            at = {name: float(np.percentile(values, level)) for name, level in levels.items()}
            records.append({"of": key, **at})
    return records


def histogram(values: Sequence[float]) -> str:
    """Counts by powers of two, as bars of text."""
    edges = 2 ** np.arange(1, int(np.ceil(np.log2(max(values) + 1))) + 1)
    counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges))
    lows = [0, *edges[:-1]]
    longest = max(counts.max() / 60, 1)
    bars = [
        f"{low:5d} to {high - 1:5d} {count:4d} {'#' * round(count / longest)}"
        for low, high, count in zip(lows, edges, counts, strict=False)
    ]
    return "```\n" + "\n".join(bars) + "\n```"


def summarise(report: Report, title: str, rows: list[Row], promised: bool) -> None:
    """Distributions, the worst settings, and whether all were met."""
    for kind, (_, wanted, _) in KINDS.items():
        own = [row for row in rows if row["kind"] == kind]
        keys = ["steps", "products", "gradient", "dual difference", "probability difference", "exact gradient"]
        report.table(f"{title}, {kind}: quantiles of {len(own)} settings", quantiles(own, keys))
        report.say(f"Products, {title}, {kind}:\n\n" + histogram([row["products"] for row in own]))
        worst = sorted(own, key=lambda row: (row["met"], -row["products"]))[:8]
        report.table(f"{title}, {kind}: the worst settings", worst)
        reached = sum(row["met"] for row in own)
        seen = f"{reached} of {len(own)}"
        if promised and kind in PROMISED:
            claim = f"{title}, {kind}: settings that reach gradient {wanted:g}"
            report.verdict(claim, f"{len(own)} of {len(own)}", seen, reached == len(own))
        else:
            report.say(f"{title}, {kind}: {seen} reach gradient {wanted:g}.")


def judge_agreement(report: Report, title: str, rows: list[Row]) -> None:
    """Largest differences from the exact optimum, of fits in double precision."""
    for kind, wanted in AGREEMENT.items():
        own = [row for row in rows if row["kind"] == kind]
        largest = max(own, key=lambda row: row["dual difference"])
        seen = f"{largest['dual difference']:.1e} ({largest['setting']})"
        claim = f"{title}, {kind}: largest dual difference from exact"
        report.verdict(claim, f"< {wanted:g}", seen, largest["dual difference"] < wanted)
        largest = max(own, key=lambda row: row["probability difference"])
        report.say(
            f"\n{title}, {kind}: largest difference of a test probability from exact "
            f"{largest['probability difference']:.1e} ({largest['setting']})."
        )


def try_all(report: Report, settings: Sequence[Setting], compare: bool = True) -> list[Row]:
    """All rows, with a line printed for every setting."""
    rows: list[Row] = []
    for setting in settings:
        own = try_setting(setting, compare)
        rows += own
        told = [
            f"{row['kind']} {row['products']} products to {row['gradient']:.0e} {row['outcome']}"
            f" (dual {row.get('dual difference', np.nan):.0e})"
            for row in own
        ]
        report.progress(f"{setting.label}: {'; '.join(told)}")
    return rows


def run(report: Report, quick: bool) -> None:
    names = ("iris", "glass") if quick else tuple(SETS)
    splits = [load(name).head(SETS[name]).standardised() for name in names]
    count = 6 if quick else PER_SET
    plain = [one for seed, split in enumerate(splits) for one in draw_settings(split, count, VARIANCES, seed)]
    hard = [
        one
        for seed, split in enumerate(splits)
        for one in draw_settings(split, count // 4, HARDER_VARIANCES, 100 + seed)
    ]
    plain_rows, hard_rows = try_all(report, plain), try_all(report, hard)
    summarise(report, "promised range", plain_rows, promised=True)
    judge_agreement(report, "promised range", plain_rows)
    summarise(report, "variance 1e4 to 1e6", hard_rows, promised=False)
    judge_agreement(report, "variance 1e4 to 1e6", hard_rows)
    if not quick:
        usps = load("usps").head(2000).standardised()
        usps_rows = try_all(report, draw_settings(usps, 10, VARIANCES, 200), compare=False)
        summarise(report, "usps, 2000 rows", usps_rows, promised=False)


if __name__ == "__main__":
    main("robustness", __doc__, run)
