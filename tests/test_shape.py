"""Bounds on the shape of the source; `python -m tests.shape` prints the measures."""

import numpy as np

from tests import shape


def test_numbers_that_decide_something_are_fields_of_policies():
    assert len(shape.numeric_constants()) <= 90, "\n".join(shape.numeric_constants())


def test_few_functions_take_an_estimator():
    takers = shape.takers_of_estimators()
    below = [taker for taker in takers if not taker.startswith("estimators/")]
    assert not below and len(takers) <= 10, "\n".join(takers)


def test_no_folder_has_more_than_14_files():
    assert {folder: count for folder, count in shape.files_per_folder().items() if count > 14} == {}


def test_function_bodies_are_short():
    lengths = shape.body_lengths()
    assert np.median(lengths) <= 5 and np.percentile(lengths, 95) <= 20


def test_measures_see_what_they_count():
    """A bound on a measure that sees nothing would hold always."""
    assert "model/persistence.py: FORMAT" in shape.numeric_constants() or len(shape.numeric_constants()) > 10
    assert any(taker.endswith("read_parameters") for taker in shape.takers_of_estimators())
    assert shape.files_per_folder()["kernels"] > 5 and len(shape.body_lengths()) > 500
