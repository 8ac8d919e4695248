"""imclef07a: labels that are the 96 nodes of a tree, with the tree and without it.

X-ray images with a path in the IRMA code of anatomy; every node on the path is a label. At most 1000 rows of the
original training part, and the original test rows. With the tree, each node is learned from the rows that have its
parent, and the probability of a node is a product along its path. Without it, all nodes are independent: a node may
be more probable than its parent, and impossible sets have probability. Nodes that no training row has are left out.
"Precision" is the area under the precision-recall curve of all pairs of a row and a label (micro average), the usual
measure of hierarchical multi-label benchmarks. "Excess" is the share of pairs of a row and a link in which the child
is more probable than its parent.
Wanted: with the tree a lower joint log loss than without it, and no excess.
"""

import time
import warnings

import numpy as np
from sklearn.metrics import average_precision_score, hamming_loss

from data import folder
from logikern import KernelMultilabelClassifier, node_indicators
from report import Report, Row, main

N_ROWS, QUICK_ROWS = 1000, 200
SETTINGS = {
    "with the tree, independent given parents": {"structure": "independent", "hierarchy": "paths"},
    "without the tree, independent": {"structure": "independent"},
    "with the tree, joint": {"structure": "joint", "hierarchy": "paths"},
}


def measure(settings: dict, own: tuple) -> Row:
    X, y, X_test, y_test, parents = own
    began, began_cpu = time.perf_counter(), time.process_time()
    model = KernelMultilabelClassifier(random_state=0, **settings).fit(X, y)
    seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    proba, truth = model.predict_proba(X_test), y_test.to_numpy()
    linked = np.flatnonzero(parents >= 0)
    return {
        "joint log loss": float(-model.set_log_proba(X_test, y_test).mean()),
        "Hamming loss": float(hamming_loss(truth, model.predict(X_test))),
        "subset error": float((model.decide(X_test, "subset") != truth).any(axis=1).mean()),
        "precision": float(average_precision_score(truth.ravel(), proba.ravel())),
        "excess": float((proba[:, linked] > proba[:, parents[linked]]).mean()),
        "seconds": seconds,
        "CPU seconds": cpu,
    }


def read(n_rows: int) -> tuple:
    with np.load(folder() / "imclef07a.npz", allow_pickle=False) as stored:
        X, paths = stored["X"].astype(float), stored["classes"][stored["y"]]
        n_train = int(stored["n_train"])
    nodes = node_indicators([[path] for path in paths.tolist()], "paths")
    chosen = np.sort(np.random.default_rng(0).permutation(n_train)[:n_rows])
    known = nodes.columns[nodes.iloc[chosen].any()]
    nodes = nodes[known]
    parent_of = {name: name.rpartition("/")[0] for name in known}
    parents = np.array([known.get_loc(above) if above else -1 for above in parent_of.values()])
    test = np.arange(n_train, len(X))
    return X[chosen], nodes.iloc[chosen], X[test], nodes.iloc[test], parents


def run(report: Report, quick: bool) -> None:
    if not (folder() / "imclef07a.npz").exists():
        report.progress("skipped: the folder of LOGIKERN_DATA has no imclef07a.npz.")
        return
    own, rows = read(QUICK_ROWS if quick else N_ROWS), []
    report.say(f"{len(own[0])} training rows, {len(own[2])} test rows, {own[1].shape[1]} labels.")
    for title, settings in SETTINGS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows.append({"model": title, **measure(settings, own)})
        report.progress(str(rows[-1]))
    report.table("imclef07a", rows)
    tree, flat = rows[0], rows[1]
    seen = tree["joint log loss"]
    report.verdict(
        "joint log loss with the tree",
        f"below {flat['joint log loss']:.3f}",
        f"{seen:.3f}",
        seen < flat["joint log loss"],
    )
    excess = max(row["excess"] for row in rows if row is not flat)
    report.verdict("children more probable than parents", "none", f"{excess:.2%}", excess == 0)


if __name__ == "__main__":
    main("label_trees", __doc__, run)
