"""segment: scikit-learn's Gaussian process classifier against our tuned fit, in one run.

1500 training rows of 19 standardised inputs, 7 classes. The peer learns the variance and the length scale of its
kernel by the Laplace approximation of the marginal likelihood, one binary model per class, n_jobs=2. Ours is fitted
as it comes and with tying="shared", which learns a rate and a variance as well. The peer takes many minutes.
"""

import time
import warnings

from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from data import Split, load
from measure import score
from report import Report, Row, main
from tuned import bounded_log, stages, tune, warm_up

WANTED_RATIO = 30.0
OURS = {"ours, default": {}, "ours, tying='shared'": {"tying": "shared"}}


def measure_process(split: Split) -> Row:
    kernel = ConstantKernel(10.0, (1e-3, 1e6)) * RBF(split.X.shape[1] ** 0.5, (1e-2, 1e4))
    process = GaussianProcessClassifier(kernel, n_jobs=2, random_state=0)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        process.fit(split.X, split.y)
    seconds = time.perf_counter() - began
    scores = score(bounded_log(process.predict_proba(split.X_test)), split.y_test)
    return _row("Gaussian process", seconds, scores.log_loss, scores.error)


def _row(name: str, seconds: float, log_loss: float, error: float) -> Row:
    return {"model": name, "seconds": seconds, "log loss": log_loss, "error %": 100 * error}


def run(report: Report, quick: bool) -> None:
    split = load("segment")
    split = (split.head(500) if quick else split).standardised()
    warm_up(split)
    rows, fits = [], {}
    for label, settings in OURS.items():
        fits[label] = tune(split, random_state=0, **settings)
        rows.append(_row(label, fits[label].seconds, fits[label].scores.log_loss, fits[label].scores.error))
        report.progress(f"{label}: {fits[label].seconds:.1f} s, log loss {fits[label].scores.log_loss:.4f}")
    peer = measure_process(split)
    rows.append(peer)
    for row in rows:
        row["Gaussian process takes"] = peer["seconds"] / row["seconds"]
    report.table(f"segment, {len(split.y)} rows, {split.n_classes} classes", rows)
    for label, tuned in fits.items():
        report.table(f"Where the time goes, {label}", stages(tuned))
    for row in rows[:-1]:
        ratio = row["Gaussian process takes"]
        report.verdict(
            f"seconds of the Gaussian process over {row['model']}", ">= 30", f"{ratio:.1f}", ratio >= WANTED_RATIO
        )
        seen = f"{row['log loss']:.4f} against {peer['log loss']:.4f}"
        report.verdict(f"log loss, {row['model']}", "lower", seen, row["log loss"] < peer["log loss"])


if __name__ == "__main__":
    main("gaussian_process", __doc__, run)
