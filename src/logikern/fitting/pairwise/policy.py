"""Numbers that decide how pairwise ascent proceeds."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PairwisePolicy:
    """Blocks and sweeps of pairwise ascent, and the extrapolation between sweeps.

    Parameters
    ----------
    block, passes : int, default=256, 10
        Points whose kernel rows are computed together, and passes over them while their rows are at hand. Updates
        within a block are cheap beside the update of all other points.
    skipped_gap, steady : float, default=0.01, 0.8
        Points with no more than this part of the duality gap, all together, are skipped as long as each sweep
        lowers the gap to `steady` times its last value.
    depth : int, default=5
        Sweeps that are extrapolated together.
    most_couplings : int, default=2**24
        Largest number of couplings between classes, over all kernels: 128 MB.
    steps, halvings : int, default=12, 30
        Newton steps of an extrapolation, and halvings of each.
    flat : float, default=1e-4
        Stop extrapolating when a step's predicted gain is below this part of the first.
    inside : float, default=0.9
        Part of the way to the first share that vanishes.
    singular : float, default=1e-12
        Eigenvalues below this part of the largest are ignored.
    noise : float
        Stop when a step is no larger than this, in units of the latents: it is rounding.
    """

    block: int = 256
    passes: int = 10
    skipped_gap: float = 0.01
    steady: float = 0.8
    depth: int = 5
    most_couplings: int = 2**24
    steps: int = 12
    halvings: int = 30
    flat: float = 1e-4
    inside: float = 0.9
    singular: float = 1e-12
    noise: float = 100 * float(np.finfo(float).eps)


POLICY = PairwisePolicy()
