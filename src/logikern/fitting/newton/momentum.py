"""Newton directions made conjugate, where labels are coarse."""

import numpy as np

from logikern.numerics.outcome import Array, Indices


class Momentum:
    """Nonlinear conjugate gradients (Polak & Ribiere) with Newton steps of a majoriser as preconditioned gradients.

    Where labels are coarse the curvature that is used is larger than the true one, and Newton steps alone come
    nearer by a constant factor each.

    Parameters
    ----------
    n_batch : int
    """

    def __init__(self, n_batch: int):
        self.last: list[tuple[Array, Array, Array, float] | None] = [None] * n_batch

    def add(self, members: Indices, direction: Array, image: Array, descent: Array) -> tuple[Array, Array]:
        """Conjugate directions and their images under K~, from Newton's, (members, C, n) each.

        `descent` is minus the gradient: its product with an image is how fast the loss falls along a direction.
        """
        for place, member in enumerate(members):
            own, strength = descent[place].copy(), float(np.vdot(image[place], descent[place]))
            if (last := self.last[member]) is not None:
                before, before_image, before_descent, before_strength = last
                factor = max(0.0, (strength - float(np.vdot(image[place], before_descent))) / before_strength)
                if np.vdot(image[place] + factor * before_image, own) > 0:
                    direction[place] += factor * before
                    image[place] += factor * before_image
            self.last[member] = (direction[place].copy(), image[place].copy(), own, max(strength, 1e-300))
        return direction, image
