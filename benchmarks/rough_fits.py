"""What rough inner fits cost: default searches against searches whose inner fits are exact.

The search of a default fit ends its inner fits early and corrects the criterion for what they miss. Here it is
repeated with inner fits to a tolerance of 1e-6, on the same rows and folds, for all tables. The columns are the
criterion at the end of both searches, the log loss on test rows, products of a whole search and CPU seconds of the
fit, on one thread. The verdict counts only sets on which both searches keep the same model.

    python benchmarks/rough_fits.py             31 tables, seed 0
    python benchmarks/rough_fits.py --seed 1    another split
"""

import argparse
import time
import warnings
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from logikern import KernelLogisticClassifier
from logikern.criteria.base import Criterion, CriterionData
from logikern.criteria.cross_validation import CrossValidation
from report import Report, Row
from table_data import read, set_names, tables_folder

TOLERANCE = 1e-6
WANTED = 1.001
WANTED_PRODUCTS = 35


def exact(data: CriterionData) -> Criterion:
    """Cross-validation with inner fits to a fine tolerance."""
    assert data.folds is not None
    solver = replace(data.solver, tolerance=TOLERANCE)  # type: ignore[type-var]
    return CrossValidation(data.likelihood, data.targets, data.folds, solver, data.sharpen)


def measure(name: str, seed: int) -> Row:
    split = read(tables_folder(), name, seed)
    row: Row = {"set": name}
    kept = []
    for label, criterion in (("", "cv"), (", exact", exact)):
        began = time.process_time()
        model = KernelLogisticClassifier(criterion=criterion, random_state=seed, n_jobs=1).fit(split.X, split.y)
        row[f"CPU s{label}"] = time.process_time() - began
        own = model.predict_proba(split.X_test)[
            np.arange(len(split.y_test)), np.searchsorted(model.classes_, split.y_test)
        ]
        row[f"criterion{label}"] = model.criterion_value_
        row[f"log loss{label}"] = float(-np.mean(np.log(np.maximum(own, 1e-15))))
        row[f"products{label}"] = sum(record.n_products for record in model.trace_)
        row[f"an evaluation{label}"] = float(np.median([record.n_products for record in model.trace_]))
        kept.append([verdict.stage for verdict in model.verdicts_ if verdict.kept])
    row["same model"] = kept[0] == kept[1]
    return row


def geometric_mean(rows: list[Row], key: str) -> float:
    return float(np.exp(np.mean([np.log(row[key] / row[f"{key}, exact"]) for row in rows])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="split of the tables")
    parser.add_argument("--quick", action="store_true", help="three small tables; writes no results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    report, rows = Report("rough_fits"), []
    with threadpool_limits(1):
        for name in ["iris", "glass", "tae"] if options.quick else set_names(tables_folder()):
            rows.append(measure(name, options.seed))
            own = rows[-1]
            report.progress(f"{name}: criterion {own['criterion']:.5f}, exact {own['criterion, exact']:.5f}")
    report.table("Default searches, and searches with exact inner fits", rows)
    same = [row for row in rows if row["same model"]]
    ratio, loss = geometric_mean(same, "criterion"), geometric_mean(rows, "log loss")
    report.say(
        f"{len(same)} of {len(rows)} searches keep the same model. Over all sets, the geometric mean of the ratio of "
        f"log losses, default over exact, is {loss:.4f}, that of products {geometric_mean(rows, 'products'):.3f} and "
        f"that of CPU seconds {geometric_mean(rows, 'CPU s'):.3f}."
    )
    report.verdict(
        "criterion at the end, default over exact, geometric mean over sets with the same model",
        f"<= {WANTED}",
        f"{ratio:.5f}",
        ratio <= WANTED,
    )
    median = float(np.median([row["an evaluation"] for row in rows]))
    met = median <= WANTED_PRODUCTS
    report.verdict("products per evaluation, median", f"<= {WANTED_PRODUCTS}", f"{median:g}", met)
    if not options.quick:
        report.write()


if __name__ == "__main__":
    main()
