"""The encoder as a step of pipelines."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from logikern import TableEncoder
from logikern.encoding.complaints import ColumnWarning
from tests.estimators.samples import fixed

FRAME = pd.DataFrame(
    {
        "size": [1.0, None, 3.0, 4.0],
        "colour": ["red", "blue", "red", None],
        "text": ["a cat", "a dog", "a cat", "a cow"],
    }
)


@parametrize_with_checks([TableEncoder(), TableEncoder(inputs="standard")])
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_names_of_inputs():
    encoder = TableEncoder().fit(FRAME[["size", "colour"]])
    expected = ["size", "size is missing", "colour=blue", "colour=red", "colour is missing"]
    assert encoder.get_feature_names_out().tolist() == expected
    assert encoder.set_output(transform="pandas").transform(FRAME[["size", "colour"]]).columns.tolist() == expected


def test_it_stands_beside_text():
    columns = ColumnTransformer([("table", TableEncoder(), ["size", "colour"]), ("text", TfidfVectorizer(), "text")])
    model = make_pipeline(columns, fixed("linear")).fit(FRAME, [0, 1, 0, 1])
    assert np.isfinite(model.predict_proba(FRAME)).all()


def test_classifier_alone_equals_the_pipeline():
    inputs = FRAME[["size", "colour"]]
    pipeline = make_pipeline(TableEncoder(), fixed()).fit(inputs, [0, 1, 0, 1])
    alone = fixed().fit(inputs, [0, 1, 0, 1])
    np.testing.assert_allclose(pipeline.predict_proba(inputs), alone.predict_proba(inputs), atol=1e-12)


def test_warning_points_at_the_caller():
    with pytest.warns(ColumnWarning, match="`id` looks like an identifier") as caught:
        TableEncoder().fit(pd.DataFrame({"id": np.arange(30)}))
    assert caught[0].filename == __file__
