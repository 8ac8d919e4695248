"""One class against the rest: soft targets, splits that are read once, and the same attributes as together."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from logikern import KernelLogisticClassifier
from tests.estimators.samples import NAMES, X, fixed

SHARES = np.random.default_rng(0).dirichlet([2.0, 1.0, 0.5], len(X))
SPLITS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, NAMES))


def test_soft_targets_are_learned_as_they_are():
    model = fixed(one_vs_rest=True).fit(X, SHARES)
    for number, binary in enumerate(model.binaries_):
        own = SHARES[:, number]
        expected = fixed().fit(X, np.column_stack([1.0 - own, own]))
        np.testing.assert_allclose(binary.predict_proba(X), expected.predict_proba(X), atol=1e-9)


def test_soft_targets_of_rows_without_weight_do_not_count():
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    model = fixed(one_vs_rest=True).fit(X, SHARES, weights)
    kept = weights > 0
    expected = fixed(one_vs_rest=True).fit(X[kept], SHARES[kept])
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-8)


def test_certain_distributions_equal_labels():
    certain = (NAMES[:, None] == np.unique(NAMES)).astype(float)
    found, expected = (fixed(one_vs_rest=True).fit(X, targets) for targets in (certain, NAMES))
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_splits_that_are_read_once_serve_all_models():
    settings = {"one_vs_rest": True, "tying": "shared", "ard": False, "random_state": 0}
    once = KernelLogisticClassifier(cv=iter(SPLITS), **settings).fit(X, NAMES)
    kept = KernelLogisticClassifier(cv=SPLITS, **settings).fit(X, NAMES)
    np.testing.assert_array_equal(once.predict_proba(X), kept.predict_proba(X))


def test_steps_and_products_of_all_models_are_told():
    model = fixed(one_vs_rest=True).fit(X, NAMES)
    assert len(model.newton_trace_) == sum(len(binary.newton_trace_) for binary in model.binaries_)
    assert model.operator_ == model.binaries_[0].operator_


def test_class_without_weight_is_refused():
    with pytest.raises(ValueError, match="no row of the class 'setosa' has a positive weight"):
        fixed(one_vs_rest=True, class_weight={"setosa": 0.0}).fit(X, NAMES)
