"""Numbers that decide how pairwise ascent proceeds."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PairwisePolicy:
    """Blocks and sweeps of pairwise ascent, and the extrapolation between sweeps."""

    # Points whose kernel rows are computed together, and passes over them while their rows are available. Updates
    # within a block are cheap compared with the update of all other points.
    block: int = 256
    passes: int = 10
    # Points that together have at most this fraction of the duality gap are skipped, as long as each sweep lowers the
    # gap to `steady` times its last value.
    skipped_gap: float = 0.01
    steady: float = 0.8
    # Sweeps that are extrapolated together.
    depth: int = 5
    # Largest number of couplings between classes, over all kernels: 128 MB.
    most_couplings: int = 2**24
    # Newton steps of an extrapolation, and halvings of each.
    steps: int = 12
    halvings: int = 30
    # Stop extrapolating when a step's predicted gain is below this fraction of the first step's gain.
    flat: float = 1e-4
    # Largest step, as a fraction of the distance at which the first share vanishes.
    inside: float = 0.9
    # Eigenvalues below this fraction of the largest eigenvalue are ignored.
    singular: float = 1e-12
    # Stop when a step is no larger than this, in units of the latents: it is rounding.
    noise: float = 100 * float(np.finfo(float).eps)


POLICY = PairwisePolicy()
