from dataclasses import replace

import numpy as np

from tests.structure import catalogue

SHARED = catalogue.ALL[0]


def test_one_kernel_for_all_classes_is_multiplied_once():
    covariance = SHARED.covariance()
    calls = []

    class Counting(type(covariance.operators[0])):
        def matmul(self, functions):
            calls.append(functions.shape)
            return super().matmul(functions)

    own = covariance.operators[0]
    counted = type(covariance)(
        (Counting(own.kernel, own.X, own.matrix),),
        covariance.assignment,
        covariance.variances,
        covariance.mixing,
        covariance.bias_variance,
    )
    counted.matmul(np.ones((3, catalogue.N_CLASSES, catalogue.N_POINTS)))
    assert calls == [(3 * catalogue.N_CLASSES, catalogue.N_POINTS)]


def test_gradient_without_bias_is_zero_for_it():
    ones = np.ones((1, catalogue.N_CLASSES, catalogue.N_POINTS))
    assert catalogue.ALL[1].covariance().contract_gradient(ones, ones).bias_variance == 0.0


def test_covariance_knows_its_size():
    covariance = SHARED.covariance()
    assert (covariance.n_classes, covariance.n_points) == (catalogue.N_CLASSES, catalogue.N_POINTS)


def test_scaled_gradient_has_every_part_scaled():
    left, right = np.random.default_rng(0).standard_normal((2, 1, catalogue.N_CLASSES, catalogue.N_POINTS))
    covariance = catalogue.ALL[3].covariance()
    twice, scaled = covariance.contract_gradient(2 * left, right), covariance.contract_gradient(left, right).scaled(2)
    np.testing.assert_allclose(np.concatenate(scaled.kernels), np.concatenate(twice.kernels), rtol=1e-12)
    np.testing.assert_allclose(scaled.variances, twice.variances, rtol=1e-12)
    np.testing.assert_allclose(scaled.bias_variance, twice.bias_variance, rtol=1e-12)


def test_constants_of_functions_in_single_precision_are_summed_in_double():
    covariance = SHARED.covariance()
    assert covariance.bias_variance > 0
    # Terms that nearly cancel: summed in single precision, they would leave nothing but rounding.
    functions = np.random.default_rng(0).standard_normal((1, catalogue.N_CLASSES, catalogue.N_POINTS))
    functions = (1e3 * functions).astype(np.float32)
    functions[..., -1] -= functions.sum(axis=-1)
    constants = covariance.bias_variance * functions.astype(float).sum(axis=-1, keepdims=True)
    without = replace(covariance, bias_variance=0.0, variances=0.0 * covariance.variances)
    found = replace(without, bias_variance=covariance.bias_variance).matmul(functions)
    np.testing.assert_allclose(found, np.broadcast_to(constants, found.shape), rtol=1e-6)
