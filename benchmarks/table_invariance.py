"""Does the way a table is written matter? Log loss of the default on tables and on the same tables written otherwise.

Numeric columns are multiplied by 10 to the power u, u uniform between -6 and 6, columns are shuffled, and categories
get other names in another order. Training and test rows change alike. Wanted: log losses within 1 %.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from logikern import KernelLogisticClassifier
from report import Report, Row, main
from table_data import Table, read, set_names, tables_folder

SEED = 0
LARGEST_EXPONENT = 6.0
WANTED = 0.01


def rewrite(table: Table, random: np.random.Generator) -> Table:
    """The same table with other units, another order of columns and other names of categories."""
    both = pd.concat([table.X, table.X_test])
    numbers = set(both.select_dtypes("number").columns)
    columns = {
        name: _rescale(both[name], random) if name in numbers else _rename(both[name], random) for name in both
    }
    order = random.permutation(list(columns))
    written = pd.DataFrame({name: columns[name] for name in order})
    return replace(table, X=written.iloc[: len(table.X)], X_test=written.iloc[len(table.X) :])


def _rescale(column: pd.Series, random: np.random.Generator) -> pd.Series:
    return column.astype(float) * 10.0 ** random.uniform(-LARGEST_EXPONENT, LARGEST_EXPONENT)


def _rename(column: pd.Series, random: np.random.Generator) -> pd.Series:
    levels = column.dropna().unique()
    names = random.permutation(len(levels))
    return column.astype(object).map({level: f"level {name}" for level, name in zip(levels, names, strict=True)})


def log_loss(table: Table) -> float:
    model = KernelLogisticClassifier(random_state=SEED).fit(table.X, table.y)
    return float(-np.mean(model.predict_log_proba(table.X_test)[np.arange(len(table.y_test)), table.y_test]))


def run(report: Report, quick: bool) -> None:
    names = set_names(tables_folder())
    rows: list[Row] = []
    for name in names[:3] if quick else names:
        table = read(tables_folder(), name, SEED)
        before = log_loss(table)
        after = log_loss(rewrite(table, np.random.default_rng(SEED)))
        rows.append({"set": name, "log loss": before, "rewritten": after, "ratio": after / before})
        report.progress(f"{name}: {before:.5f}, rewritten {after:.5f}")
    report.table("Tables as they are, and rewritten", rows)
    ratios = np.array([row["ratio"] for row in rows])
    mean = float(np.exp(np.mean(np.log(ratios))))
    report.verdict("geometric mean of the ratios", "within 1 %", f"{mean:.4f}", abs(mean - 1.0) <= WANTED)
    outside = [row["set"] for row in rows if abs(row["ratio"] - 1.0) > WANTED]
    report.verdict("sets whose log loss changes by more than 1 %", "none", ", ".join(outside) or "none", not outside)


if __name__ == "__main__":
    main("table_invariance", __doc__, run)
