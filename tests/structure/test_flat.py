import numpy as np

from logikern.structure.mixing import Flat


def test_every_class_has_its_own_function():
    latent = np.arange(6.0).reshape(1, 3, 2)
    np.testing.assert_array_equal(Flat(3).forward(latent), latent)


def test_as_many_functions_as_classes():
    assert Flat(3).n_latent == Flat(3).n_classes == 3
