"""The picture of the README: probabilities on satimage, ours with default settings against a calibrated SVC.

The SVC has the C and gamma that the grid of against_grid.py finds. Writes docs/images/satimage.png.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

from data import load, require_folder
from logikern import KernelLogisticClassifier, error_reject_curve
from logikern.reporting.curves import plot_error_reject, plot_reliability

FOUND = {"C": 3, "gamma": 0.0556}
TARGET = Path(__file__).resolve().parent.parent / "docs" / "images" / "satimage.png"


def main() -> None:
    require_folder()
    split = load("satimage").standardised()
    machine = CalibratedClassifierCV(SVC(**FOUND), cv=5, ensemble=False)
    ours = KernelLogisticClassifier(random_state=0)
    contenders = {"logikern, default settings": ours, "SVC, tuned, calibrated": machine}
    probabilities = {
        name: model.fit(split.X, split.y).predict_proba(split.X_test) for name, model in contenders.items()
    }
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    plot_error_reject({name: error_reject_curve(split.y_test, p) for name, p in probabilities.items()}, left)
    left.set(title="error among the cases that are not rejected", xlim=(0, 0.5))
    for p in probabilities.values():
        plot_reliability(split.y_test, p, ax=right)
    right.set(title="how often the predicted class is right")
    right.legend([line for line in right.get_lines() if len(line.get_xdata()) > 2][:2], list(probabilities))
    figure.tight_layout()
    TARGET.parent.mkdir(exist_ok=True)
    figure.savefig(TARGET, dpi=110)


if __name__ == "__main__":
    main()
