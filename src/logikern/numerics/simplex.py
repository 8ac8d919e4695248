"""Soft maximum and its companions along the class axis, which is the last but one."""

from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Array


class SoftMaximum(NamedTuple):
    """log sum exp over classes (..., n) and the probabilities (..., C, n)."""

    log_total: Array
    probabilities: Array


def soft_maximum(latent: Array) -> SoftMaximum:
    """l = log sum_c exp(u_c) and pi_c = exp(u_c - l), without overflow, for latents (..., C, n)."""
    highest = latent.max(axis=-2)
    probabilities = latent - highest[..., None, :]
    np.exp(probabilities, out=probabilities)
    total = probabilities.sum(axis=-2)
    probabilities /= total[..., None, :]
    return SoftMaximum(highest + np.log(total), probabilities)


def log_probabilities(latent: Array) -> Array:
    """log pi_c = u_c - log sum_e exp(u_e), finite wherever the latents are."""
    centred = latent - latent.max(axis=-2)[..., None, :]
    return centred - np.log(np.exp(centred).sum(axis=-2))[..., None, :]
