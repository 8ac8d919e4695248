"""The latents of a group of points after one Newton step without the group."""

import numpy as np

from logikern.criteria.leave_one_out.groups import gather, scatter
from logikern.criteria.leave_one_out.posterior import GroupBlocks
from logikern.likelihoods.curvature import PointwiseCurvature
from logikern.numerics.outcome import Array


class Cavity:
    """J_g = (I - W_g Q_gg)^-1 for every group g of points, at a curvature W with one weighting.

    The step without group g leads from u_g to u_g - Q_gg J_g alpha_g, which for one point of two classes is
    Cawley & Talbot (2008), eq. (20). As J = I + V P^+ V' Q, no formula divides by a probability.
    """

    def __init__(self, batches: tuple[GroupBlocks, ...], curvature: PointwiseCurvature):
        self.batches = batches
        self.curvature = curvature

    def amplify(self, functions: Array) -> Array:
        """J f, (F, n) -> (F, n)."""
        pulled = self.pull(functions)
        solved = np.empty_like(functions)
        for batch in self.batches:
            matrix = batch.shrinkage + self._projection(batch)
            right_side = gather(pulled, batch.members)[:, :, None]
            scatter(np.linalg.solve(matrix, right_side)[:, :, 0], batch.members, solved)
        return functions + self.curvature.root(self.curvature.project(solved[None]))[0]

    def covary(self, functions: Array) -> Array:
        """Q_gg f_g for every group."""
        result = np.empty_like(functions)
        for batch in self.batches:
            values = gather(functions, batch.members)[:, :, None]
            scatter((batch.covariance @ values)[:, :, 0], batch.members, result)
        return result

    def pull(self, functions: Array) -> Array:
        """V_g' Q_gg f_g for every group."""
        return self.curvature.root_adjoint(self.covary(functions)[None])[0]

    def _projection(self, batch: GroupBlocks) -> Array | float:
        """U U' at the points of each group; P vanishes there."""
        if self.curvature.null is None:
            return 0.0
        null = self.curvature.null[0][:, batch.members]  # (F, k, m)
        blocks = np.einsum("fkm,ekm,ml->kfmel", null, null, np.eye(null.shape[2]))
        return blocks.reshape(batch.shrinkage.shape)
