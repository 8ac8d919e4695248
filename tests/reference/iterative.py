"""Better and better duals of large problems by conjugate gradients, with a certificate of what is left."""

from dataclasses import dataclass

import numpy as np

from tests.reference.model import Model
from tests.reference.softmax import residual, softmax


@dataclass(frozen=True, eq=False)
class Certified:
    """A dual (C, n), its latents (C, n), and how far from the optimum it can be.

    The penalised loss is strongly convex in the norm of the function space with constant 1. Hence
    ||u - u*|| <= sqrt(rho' K rho) =: distance with rho the residual, and the class functions of the dual and of the
    optimum differ at a point x by at most sqrt(k(x, x)) * distance.
    """

    dual: np.ndarray
    latent: np.ndarray
    distance: float


def certify(model: Model, matrices: list[np.ndarray], dual: np.ndarray, targets: np.ndarray, weights: np.ndarray):
    """The certificate of a dual."""
    latent = model.image(matrices, dual)
    rest = residual(dual, latent, targets, weights)
    return Certified(dual, latent, float(np.sqrt(max(0.0, np.vdot(rest, model.image(matrices, rest))))))


def probability_bound(latent_bound: np.ndarray | float) -> np.ndarray | float:
    """How much a probability can change where no latent changes by more than `latent_bound`.

    Log odds change by twice as much, and a probability by at most a quarter of that, and less for large changes.
    """
    return np.tanh(0.5 * np.asarray(latent_bound))


def polish(
    model: Model,
    matrices: list[np.ndarray],
    dual: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    distance: float,
    steps: int = 30,
    products: int = 600,
) -> Certified:
    """Newton steps from a dual until the optimum is no farther than `distance`, or no step helps.

    Each step solves (I + W K) d = -rho by conjugate gradients in the inner product of K, in which the operator
    I + W K is symmetric and positive.
    """
    best = certify(model, matrices, dual, targets, weights)
    for _ in range(steps):
        if best.distance <= distance:
            break
        step, image = _newton_step(model, matrices, best, targets, weights, products)
        length = 1.0
        start = _objective(best.dual, best.latent, targets, weights)
        while length > 1e-6:
            trial = _objective(best.dual + length * step, best.latent + length * image, targets, weights)
            if trial <= start + 1e-12 * abs(start):
                break
            length *= 0.5
        found = certify(model, matrices, best.dual + length * step, targets, weights)
        if found.distance >= best.distance and length < 1.0:
            break
        best = min(best, found, key=lambda one: one.distance) if length == 1.0 else found
        if best is not found:
            break
    return best


def _objective(dual: np.ndarray, latent: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
    highest = latent.max(axis=0)
    total = highest + np.log(np.exp(latent - highest).sum(axis=0))
    return float(weights @ (total - (targets * latent).sum(axis=0)) + 0.5 * np.vdot(dual, latent))


def _newton_step(model, matrices, at: Certified, targets, weights, products: int):
    """(direction, K direction) after so many products at most."""
    probability = softmax(at.latent)

    def curve(values: np.ndarray) -> np.ndarray:
        return weights * probability * (values - (probability * values).sum(axis=0))

    direction, image = np.zeros_like(at.dual), np.zeros_like(at.dual)
    rest = -residual(at.dual, at.latent, targets, weights)
    rest_image = model.image(matrices, rest)
    search, search_image = rest.copy(), rest_image.copy()
    size = first = np.vdot(rest, rest_image)
    for _ in range(products):
        change = search + curve(search_image)
        change_image = model.image(matrices, change)
        bend = np.vdot(search, change_image)
        if not bend > 0:
            break
        length = size / bend
        direction += length * search
        image += length * search_image
        rest = rest - length * change
        rest_image = rest_image - length * change_image
        new = np.vdot(rest, rest_image)
        if new <= 1e-12 * first:
            break
        search, search_image = rest + new / size * search, rest_image + new / size * search_image
        size = new
    return direction, image
