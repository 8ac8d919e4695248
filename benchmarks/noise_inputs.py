"""Five informative inputs among 45 of noise: learned rates tell them apart, and what that is worth.

Three classes whose log odds are sums of waves of each informative input and of products of neighbouring ones, all
of similar size; 1000 training and 5000 test rows, several seeds. Ours learns 50 rates and a variance
(tying="shared", ard=True). Against it: ours with a single rate; Optuna (its default sampler), which tunes the
same 51 numbers by the cross-validated log loss of the same classifier, starting from the same values; and
GridSearchCV over one rate and one variance, factors of 3 around the same start. Both get the seconds that ours took
(or `--times` as many), and both cores by n_jobs=2: Optuna as its time-out, the grid by its number of values, from the
time of one setting. Optuna is left out where it is not installed.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from data import Split
from logikern import KernelLogisticClassifier
from measure import Scores, score
from report import Report, Row
from tuned import conduct, options, tune, warm_up

N_INFORMATIVE, N_NOISE = 5, 45
N_CLASSES = 3
SIZE = 3.0
WANTED_RATIO = 10.0
# How far Optuna looks around the start, and from one value of the grid to the next, as factors.
REACH = 100.0
STEP = 3.0
JOBS = 2


def log_odds(X: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Unnormalised log probabilities of the classes, (n, 3)."""
    informative = X[:, :N_INFORMATIVE]
    neighbours = informative * np.roll(informative, 1, axis=1)
    shape = (N_CLASSES, N_INFORMATIVE)
    phase, sign = random.uniform(0, 2 * np.pi, shape), random.choice([-1.0, 1.0], shape)
    waves = np.sin(1.5 * informative[:, None, :] + phase).sum(axis=2)  # (n, 3)
    return SIZE * (waves + 0.5 * neighbours @ sign.T) / np.sqrt(N_INFORMATIVE)


def draw(seed: int, n_train: int, n_test: int) -> tuple[Split, float]:
    """A set, and the log loss of the probabilities that it was drawn from."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_train + n_test, N_INFORMATIVE + N_NOISE))
    odds = log_odds(X, random)
    y = (odds + random.gumbel(size=odds.shape)).argmax(axis=1)
    true = odds - np.logaddexp.reduce(odds, axis=1, keepdims=True)
    split = Split(f"noise, seed {seed}", X[:n_train], y[:n_train], X[n_train:], y[n_train:])
    return split, score(true[n_train:], split.y_test).log_loss


def folds() -> StratifiedKFold:
    return StratifiedKFold(5, shuffle=True, random_state=0)


def fixed(rate: float | list[float], variance: float) -> KernelLogisticClassifier:
    return KernelLogisticClassifier(criterion=None, tying="shared", rate=rate, variance=variance, random_state=0)


def held_out_loss(model: KernelLogisticClassifier, split: Split) -> float:
    scores = cross_val_score(model, split.X, split.y, cv=folds(), scoring="neg_log_loss", n_jobs=JOBS)
    return -float(scores.mean())


def scores_of(model: KernelLogisticClassifier, split: Split) -> Scores:
    return score(model.predict_log_proba(split.X_test), split.y_test)


def by_optuna(split: Split, start: tuple[float, float], seconds: float, seed: int) -> Row | None:
    """The same 51 numbers, with the same time; None where Optuna is not installed."""
    try:
        import optuna
    except ImportError:
        return None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names = [f"rate {number}" for number in range(split.X.shape[1])]

    def model_at(values: dict[str, float]) -> KernelLogisticClassifier:
        return fixed([values[name] for name in names], values["variance"])

    def loss(trial: "optuna.Trial") -> float:
        rate, variance = start
        values = {name: trial.suggest_float(name, rate / REACH, rate * REACH, log=True) for name in names}
        values["variance"] = trial.suggest_float("variance", variance / REACH, variance * REACH, log=True)
        return held_out_loss(model_at(values), split)

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.enqueue_trial(dict.fromkeys(names, start[0]) | {"variance": start[1]})
    began = time.perf_counter()
    study.optimize(loss, timeout=seconds, catch=(Exception,))
    model = model_at(study.best_params).fit(split.X, split.y)
    taken = time.perf_counter() - began
    return _row("Optuna, rate per input", scores_of(model, split), taken, len(study.trials), _ratio(model))


def by_grid(split: Split, start: tuple[float, float], seconds: float) -> Row:
    """One rate and one variance, on the largest grid that the time allows."""
    began = time.perf_counter()
    held_out_loss(fixed(*start), split)
    settings = max(1, int(seconds / (time.perf_counter() - began)))
    n_rates = int(np.ceil(np.sqrt(settings)))
    grid = {"rate": around(start[0], n_rates), "variance": around(start[1], settings // n_rates)}
    began = time.perf_counter()
    search = GridSearchCV(fixed(*start), grid, cv=folds(), scoring="neg_log_loss", n_jobs=JOBS).fit(split.X, split.y)
    taken = time.perf_counter() - began
    evaluations = len(search.cv_results_["params"])
    return _row("GridSearchCV, one rate", scores_of(search.best_estimator_, split), taken, evaluations, np.nan)


def around(centre: float, count: int) -> list[float]:
    """At most twelve values, geometric around the centre."""
    count = int(np.clip(count, 1, 12))
    return [float(centre * STEP ** (place - (count - 1) / 2)) for place in range(count)]


def _ratio(model: KernelLogisticClassifier) -> float:
    """Smallest rate of an informative input over the largest of a noise input."""
    rates = np.array(model.kernels_[0].rate)
    return float(rates[:N_INFORMATIVE].min() / rates[N_INFORMATIVE:].max())


def _row(name: str, scores: Scores, seconds: float, evaluations: int, ratio: float) -> Row:
    return {
        "model": name,
        "log loss": scores.log_loss,
        "error %": 100 * scores.error,
        "seconds": seconds,
        "evaluations": evaluations,
        "informative / noise": ratio,
    }


def compare(report: Report, seed: int, n_train: int, times: float) -> list[Row]:
    """All models on one set."""
    split, best = draw(seed, n_train, 5000)
    warm_up(split)
    held_out_loss(fixed(0.01, 10.0), split.head(100))
    ours = tune(split, tying="shared", ard=True, random_state=seed)
    single = tune(split, tying="shared", ard=False, random_state=seed)
    start = float(single.model.start_.kernels[0].rate), float(single.model.start_.variances[0])
    rows = [
        _row("ours, rate per input", ours.scores, ours.seconds, len(ours.model.trace_), _ratio(ours.model)),
        _row("ours, one rate", single.scores, single.seconds, len(single.model.trace_), np.nan),
        by_optuna(split, start, times * ours.seconds, seed),
        by_grid(split, start, times * ours.seconds),
        _row("the true probabilities", Scores(best, np.nan), np.nan, 0, np.nan),
    ]
    rows = [row for row in rows if row is not None]
    report.table(f"Seed {seed}, {n_train} training rows", rows)
    report.say(describe(np.array(ours.model.kernels_[0].rate)))
    return rows


def describe(rates: np.ndarray) -> str:
    informative, noise = rates[:N_INFORMATIVE], rates[N_INFORMATIVE:]
    far = int((noise * WANTED_RATIO <= informative.min()).sum())
    return (
        f"Rates of informative inputs {np.array2string(informative, precision=3)}; of noise from {noise.min():.2g} "
        f"to {noise.max():.2g}, median {np.median(noise):.2g}; {far} of {len(noise)} of these are tenfold below "
        "every informative one."
    )


def run(report: Report, chosen: argparse.Namespace) -> None:
    seeds = 1 if chosen.quick else chosen.seeds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = [compare(report, seed, 400 if chosen.quick else 1000, chosen.times) for seed in range(seeds)]
    means = [
        {"model": rows[0]["model"], "log loss": np.mean([row["log loss"] for row in rows])}
        | {"seconds": np.mean([row["seconds"] for row in rows])}
        for rows in zip(*tables, strict=True)
    ]
    report.table("Means over seeds", means)
    ratios = [rows[0]["informative / noise"] for rows in tables]
    seen = ", ".join(f"{ratio:.3g}" for ratio in ratios)
    claim = "smallest informative rate over largest noise rate, each seed"
    report.verdict(claim, ">= 10", seen, min(ratios) >= WANTED_RATIO)
    ours = means[0]["log loss"]
    for row in means[1:-1]:
        seen = f"{ours:.4f} against {row['log loss']:.4f}"
        report.verdict(
            f"mean log loss, ours with a rate per input against {row['model']}", "lower", seen, ours < row["log loss"]
        )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="sets that are drawn (5)")
    parser.add_argument("--times", type=float, default=1.0, help="seconds of the peers over those of ours (1)")
    conduct("noise_inputs", parser.parse_args(), run)


if __name__ == "__main__":
    main()
