"""Labels of inner nodes where latents are far apart."""

import numpy as np
import pytest

from logikern.likelihoods.coarse import CoarseSoftmax
from logikern.structure.hierarchy import read_tree

TREE = read_tree(["p/a", "p/b", "q"])


@pytest.mark.parametrize("dtype, gap", [(np.float32, 110.0), (np.float64, 400.0), (np.float64, 650.0)])
def test_far_latents_leave_numbers(dtype, gap):
    likelihood, weights = CoarseSoftmax(TREE), np.ones((1, 1))
    targets = (np.asarray(TREE.labels) == "p").astype(float)[:, None]
    latent = np.array([-gap, -gap - 1.0, 0.0], dtype=dtype)[None, :, None]
    wanted = gap - np.log1p(np.exp(-1.0))
    loss, gradient = likelihood.loss_and_gradient(latent, targets, weights)
    np.testing.assert_allclose(loss, [wanted], rtol=1e-6)
    share = 1.0 / (1.0 + np.exp(-1.0))
    np.testing.assert_allclose(gradient[0, :, 0], [-share, share - 1.0, 1.0], atol=1e-6)
    functions = np.array([1.0, -1.0, 0.5])[None, :, None]
    # Within the node, the curvature of the two leaves that share it.
    bent = likelihood.missing(latent, targets, weights, functions)[0, :, 0]
    np.testing.assert_allclose(bent, [2 * share * (1 - share), -2 * share * (1 - share), 0.0], atol=1e-6)
