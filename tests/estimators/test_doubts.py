"""Leave-one-out in closed form that is far from refits is told; where it is close nothing is said."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_moons
from sklearn.preprocessing import StandardScaler

from logikern import KernelLogisticClassifier, load_model
from tests.criteria.test_spot_check import LABELS, POINTS
from tests.estimators.samples import fixed

TELLS = "Closed-form leave-one-out disagrees with refits: its mean loss of .* is too small"
LARGE = {"rate": 2.0, "variance": 300.0, "random_state": 0}


@pytest.mark.parametrize(
    "ask", [lambda model: model.loo_proba_, lambda model: model.loo_log_loss_, lambda model: model.suspects(3)]
)
def test_who_asks_is_told(ask):
    model = fixed(**LARGE).fit(POINTS, LABELS)
    with pytest.warns(UserWarning, match=TELLS + ".*Use `exact_loo`"):
        ask(model)


def test_warning_points_at_the_caller():
    model = fixed(**LARGE).fit(POINTS, LABELS)
    with pytest.warns(UserWarning, match=TELLS) as caught:
        _ = model.loo_proba_
    assert caught[0].filename == __file__


def test_refits_are_what_the_warning_says():
    model = fixed(**LARGE).fit(POINTS, LABELS)
    with pytest.warns(UserWarning, match=TELLS) as caught:
        _ = model.loo_proba_
    suggested = float(str(caught[0].message).partition("suggest ")[2].split(". ")[0])
    losses = -np.log(model.exact_loo()[np.arange(50), LABELS])
    assert suggested == pytest.approx(losses.mean(), rel=0.1)


def ordered_classes():
    """Nine classes in a row, as in a count: hard to tell apart, and learned at a large variance."""
    random = np.random.default_rng(0)
    points = random.standard_normal((50, 2))
    return points, np.clip(np.round(2.0 * points[:, 0] + 0.3 * random.standard_normal(50) + 4), 0, 8).astype(int)


@pytest.fixture(scope="module")
def misled():
    model = KernelLogisticClassifier(criterion="loo", tying="shared", ard=False, random_state=0)
    with pytest.warns(UserWarning, match=TELLS + ".*Use criterion='cv'") as caught:
        model.fit(*ordered_classes())
    return model, caught


def test_search_by_it_is_told(misled):
    assert misled[1][0].filename == __file__


def test_explanation_keeps_it(misled, tmp_path):
    model, _ = misled
    assert "disagrees with refits" in model.explain()
    model.save_model(tmp_path / "model")
    assert load_model(tmp_path / "model").explain() == model.explain()


SETS = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "cancer": load_breast_cancer(return_X_y=True),
    "moons": make_moons(100, noise=0.3, random_state=0),
    "noise": (np.random.default_rng(0).standard_normal((100, 3)), np.arange(100) % 2),
}


@pytest.mark.parametrize("criterion", [None, "loo"])
@pytest.mark.parametrize("name", SETS)
def test_nothing_is_said_of_ordinary_tables(name, criterion):
    points, labels = SETS[name]
    rows = np.random.default_rng(0).permutation(len(labels))[:80]
    model = KernelLogisticClassifier(criterion=criterion, tying="shared", ard=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(StandardScaler().fit_transform(points[rows]), labels[rows])
        _ = model.loo_proba_
    assert "disagrees with refits" not in model.explain()
