"""A fit with the library alone: run by the Python of an environment that has no extras."""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_iris

import logikern


def main() -> None:
    present = [name for name in ("pandas", "typer", "matplotlib") if importlib.util.find_spec(name) is not None]
    assert not present, f"this environment has {present}"
    X, y = load_iris(return_X_y=True)
    model = logikern.KernelLogisticClassifier(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    with tempfile.TemporaryDirectory() as folder:
        model.save_model(Path(folder) / "iris.skops")
        again = logikern.load_model(Path(folder) / "iris.skops")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    told = subprocess.run([sys.executable, "-m", "logikern", "demo"], capture_output=True, text=True)
    assert told.returncode == 1 and "pip install 'logikern[cli]'" in told.stderr, told.stderr
    sys.stdout.write(f"logikern {logikern.__version__} fits without extras\n")


if __name__ == "__main__":
    main()
