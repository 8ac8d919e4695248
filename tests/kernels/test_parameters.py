"""Declared fields: what is accepted, what is refused, and how it is named."""

import numpy as np
import pytest

from logikern.kernels import KERNELS, Gaussian, Polynomial, RationalQuadratic

NOT_POSITIVE = [0.0, -1.0, np.inf, np.nan, -np.inf, None, "fast", [[1.0]], 1j]


@pytest.mark.parametrize("value", NOT_POSITIVE, ids=repr)
def test_rate_that_is_not_positive_is_refused(value):
    with pytest.raises(ValueError, match="`rate` must be a positive finite number, but is"):
        Gaussian(value)


def test_wrong_rate_of_an_input_is_named():
    with pytest.raises(ValueError, match=r"`rate\[1\]` must be a positive finite number, but is -2.0"):
        Gaussian((1.0, -2.0))


def test_no_rates_are_refused():
    with pytest.raises(ValueError, match="one value per input, but is empty"):
        Gaussian(())


def test_sequence_is_refused_where_one_number_is_wanted():
    with pytest.raises(ValueError, match="`alpha` must be a positive finite number"):
        RationalQuadratic(1.0, (1.0, 2.0))


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", None, np.nan, np.inf], ids=repr)
def test_degree_that_is_no_positive_integer_is_refused(value):
    with pytest.raises(ValueError, match="`degree` must be an integer of at least 1"):
        Polynomial(degree=value)


@pytest.mark.parametrize("rate", [[1.0, 2.0], np.array([1.0, 2.0]), np.array([1, 2], dtype=np.float32)], ids=type)
def test_rates_of_any_sequence_are_equal(rate):
    assert hash(Gaussian(rate)) == hash(Gaussian((1.0, 2.0)))


@pytest.mark.parametrize("rate", [2, np.float32(2.0), np.float64(2.0), np.array(2.0)], ids=type)
def test_rate_is_stored_as_float(rate):
    # A float64 scalar would make float32 matrices float64.
    assert type(Gaussian(rate).rate) is float


def test_record_is_frozen():
    with pytest.raises(AttributeError):
        Gaussian().rate = 2.0


@pytest.mark.parametrize("logarithm", [1000.0, -1000.0, np.nan])
def test_log_parameter_out_of_range_is_refused(logarithm):
    with pytest.raises(ValueError, match="`rate` must be a positive finite number"):
        Gaussian().with_log_parameters([logarithm])


def test_degree_is_not_learned():
    assert Polynomial(degree=4).parameter_names == ("rate", "offset")


def test_degree_outlives_new_parameters():
    assert Polynomial(degree=4).with_log_parameters([0.0, 0.0]).degree == 4


@pytest.mark.parametrize("name", KERNELS)
def test_named_kernel_has_defaults(name):
    assert KERNELS[name]() == KERNELS[name]()


def test_roles_say_what_each_parameter_controls():
    kernel = 2.0 * Gaussian((1.0, 2.0)) + RationalQuadratic(3.0)
    assert kernel.parameter_roles == ("rate per input", "rate per input", "scale", "rate", "shape")
    assert len(kernel.parameter_roles) == len(kernel.parameter_names)


WRONG_PLACES = [0, "ab", (), (0.0, 1.0), (-1, 0), [[0, 1]], (True, False), (None,)]


@pytest.mark.parametrize("columns", WRONG_PLACES, ids=repr)
def test_columns_that_are_no_places_are_refused(columns):
    with pytest.raises(ValueError, match="`columns` must be a sequence of integers 0, 1, 2, ..., one per input"):
        Gaussian((1.0, 2.0), columns=columns)


@pytest.mark.parametrize(
    ("columns", "fragment"),
    [((0, 1, 2), "position 2 occurs"), ((0, 0), "position 1 is missing"), ((1, 1), "position 0 is missing")],
)
def test_columns_must_name_every_rate(columns, fragment):
    wanted = "`columns` must contain every position in `rate`, from 0 to 1, and no other"
    with pytest.raises(ValueError, match=f"{wanted}, but {fragment}"):
        Gaussian((1.0, 2.0), columns=columns)


def test_columns_beside_one_rate_must_be_numbered_from_zero():
    with pytest.raises(ValueError, match="position 1 is missing"):
        Gaussian(1.0, columns=(0, 2))


@pytest.mark.parametrize("columns", [[1, 0, 1], np.array([1, 0, 1]), np.array([1, 0, 1], dtype=np.uint8)], ids=type)
def test_columns_of_any_sequence_are_equal(columns):
    kernel = Gaussian((1.0, 2.0), columns=columns)
    assert kernel == Gaussian((1.0, 2.0), columns=(1, 0, 1))
    assert hash(kernel) == hash(Gaussian((1.0, 2.0), columns=(1, 0, 1)))


def test_columns_are_not_learned_and_stay():
    kernel = RationalQuadratic((1.0, 2.0), 0.5, columns=(1, 0, 1))
    assert kernel.parameter_names == ("rate[0]", "rate[1]", "alpha")
    assert kernel.with_log_parameters([0.0, 0.0, 0.0]) == RationalQuadratic((1.0, 1.0), 1.0, columns=(1, 0, 1))
