"""Models in files: equal after a round trip, and after damage either equal or refused."""

import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from logikern import KernelLogisticClassifier, KernelRegressor, Tree, load_model
from tests.fuzz.checks import Checks
from tests.fuzz.fits import draw_tying
from tests.fuzz.kernels import draw_kernel
from tests.fuzz.labels import draw_targets
from tests.fuzz.regressions import draw_numbers
from tests.fuzz.tables import Random, draw_inputs
from tests.fuzz.trees import draw_shape

N_NEW = 6
N_FLIPS = 12


def files(random: Random, checks: Checks) -> None:
    """Save and load, pickle, clone, flipped bits."""
    inputs = draw_inputs(random, int(random.integers(4, 40)), N_NEW, plain=True)
    estimator, y = _draw_estimator(random, inputs)
    told = f"[{inputs.form}, {estimator}]"
    with checks.quiet("files"):
        estimator.fit(inputs.given, y)
    wanted = _answers(estimator, inputs.given_new)
    checks.close("files: pickle", _answers(pickle.loads(pickle.dumps(estimator)), inputs.given_new), wanted, 0, told)
    with checks.quiet("files"):
        again = clone(estimator).fit(inputs.given, y)
    checks.close("files: clone", _answers(again, inputs.given_new), wanted, 1e-12 * (1 + np.abs(wanted).max()), told)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        _save(estimator, path)
        loaded = load_model(path)
        checks.close("files: load", _answers(loaded, inputs.given_new), wanted, 0, told)
        _judge_damage(random, checks, path, inputs.given_new, wanted, told)


def _draw_estimator(random: Random, inputs: Any) -> tuple[Any, Any]:
    """A classifier, flat, in a tree, or one against rest, a regressor, or a pipeline; and its targets."""
    kind = random.integers(6)
    settings: dict[str, Any] = {"criterion": None, "random_state": 0} | draw_kernel(random, inputs).arguments
    if kind == 0:
        return KernelRegressor(**settings), draw_numbers(random, inputs.values)
    if kind == 1:
        shape = draw_shape(random, 4)
        y = [shape.classes[number % len(shape.classes)] for number in range(len(inputs.values))]
        return KernelLogisticClassifier(hierarchy=Tree(shape.labels, shape.parents), **settings), y
    targets = draw_targets(random, inputs.values, int(random.choice([2, 3, 5])), soft=False)
    if kind == 2:
        return KernelLogisticClassifier(one_vs_rest=True, tying="shared", **settings), targets.given
    classifier = KernelLogisticClassifier(tying=draw_tying(random, len(targets.classes)), **settings)
    if kind == 3:
        return make_pipeline(StandardScaler(with_mean=False), classifier), targets.given
    return classifier, targets.given


def _save(estimator: Any, path: Path) -> None:
    if hasattr(estimator, "save_model"):
        estimator.save_model(path)
    else:
        from logikern import save_model

        save_model(estimator, path)


def _answers(model: Any, X: Any) -> np.ndarray:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def _judge_damage(random: Random, checks: Checks, path: Path, X: Any, wanted: np.ndarray, told: str) -> None:
    """A flipped bit, a cut, or bytes that were overwritten: an equal model or one clear error."""
    whole = path.read_bytes()
    for _ in range(N_FLIPS):
        content = bytearray(whole)
        kind = random.integers(8)
        place = int(random.integers(len(content)))
        if kind == 0:
            content = content[:place]
        elif kind == 1:
            content[place : place + 16] = random.bytes(16)
        else:
            content[place] ^= 1 << int(random.integers(8))
        path.write_bytes(bytes(content))
        damage = f"kind {kind} at byte {place} of {len(whole)} {told}"
        try:
            loaded = load_model(path)
        except ValueError as error:
            checks.that("files: damage is refused by a sentence", len(str(error)) > 40, f"{error} {damage}")
        else:
            checks.close("files: damage changes nothing", _answers(loaded, X), wanted, 0, damage)
