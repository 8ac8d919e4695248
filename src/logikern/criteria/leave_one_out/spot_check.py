"""A check of closed-form leave-one-out: some rows are left out by refits."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.criteria.leave_one_out.groups import partition
from logikern.criteria.leave_one_out.refits import exact_leave_one_out
from logikern.fitting.problem import Problem, Solver
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.temperature import Temperature


class Refitting(NamedTuple):
    """The solver of refits, and how many run in lock-step."""

    solver: Solver
    batch: int


@dataclass(frozen=True)
class SpotCheckPolicy:
    """The number of refits, and which differences are large."""

    # Number of groups (or rows) whose loss grows most when they are left out: errors are largest there.
    n_largest: int = 5
    n_random: int = 25  # number of further groups, drawn at random to represent all others
    # Differences of the mean loss below this do not matter. There is no check if leaving rows out changes the mean
    # loss by less.
    least: float = 0.05
    # Smaller differences, relative to the mean loss of refits, are normal. On 13 tables of 50 and 120 rows they are a
    # few per cent for learned hyperparameters, and up to 37 per cent at a variance of 300.
    share: float = 0.15


USUAL, NEUTRAL = SpotCheckPolicy(), Temperature()


class SpotCheck(NamedTuple):
    """Mean losses of rows left out: in closed form, and estimated from some refits."""

    closed_form: float
    refitted: float
    n_refits: int
    is_far: bool

    def __str__(self) -> str:
        kind = "too small" if self.refitted > self.closed_form else "too large"
        return (
            f"Closed-form leave-one-out disagrees with refits: its mean loss of {self.closed_form:.2f} is {kind}. "
            f"{self.n_refits} refits, each without one row, suggest {self.refitted:.2f}"
        )


def spot_check(
    problem: Problem,
    latent: Array,
    left_out: Array,
    refitting: Refitting,
    seed: int,
    groups: Array | None = None,
    temperature: Temperature = NEUTRAL,
    policy: SpotCheckPolicy = USUAL,
) -> SpotCheck | None:
    """Compare closed form and refits; None if there is nothing to check, or if refits do not converge.

    Parameters
    ----------
    problem : Problem
        With one weighting.
    latent : array of shape (1, C, n)
        Latents of the fit to all points.
    left_out : array of shape (C, n)
        Latents of every point, predicted without its group in closed form.
    refitting : Refitting
    seed : int
        Seed for drawing groups.
    groups : array of shape (n,) or None, default=None
        Points with equal labels are left out together; None leaves out one point at a time.
    temperature : Temperature
        Temperature of the losses.
    policy : SpotCheckPolicy
    """
    weights, numbers = problem.weights[0], partition(groups, problem.shape[2]).numbers

    def losses(latents: Array) -> Array:
        return weights * problem.likelihood.losses(temperature.apply(latents)[None], problem.targets)[0]

    closed, total = losses(left_out), float(weights.sum())
    lost = np.bincount(numbers, closed - losses(latent[0]))
    if problem.likelihood.is_quadratic or lost.sum() < policy.least * total:
        return None
    largest, drawn = _choose(lost, policy, seed)
    refits = exact_leave_one_out(
        problem, refitting.solver, groups, latent, refitting.batch, np.concatenate([largest, drawn])
    )
    if not refits.outcome.converged:
        return None
    seen = np.isin(numbers, largest) | np.isin(numbers, drawn)
    further = np.zeros_like(closed)
    further[seen] = (losses(np.where(seen, refits.latent, 0.0)) - closed)[seen]
    of_groups = np.bincount(numbers, further)
    scale = (len(lost) - len(largest)) / max(len(drawn), 1)
    difference = float(of_groups[largest].sum() + scale * of_groups[drawn].sum()) / total
    mean = float(closed.sum()) / total
    is_far = abs(difference) > max(policy.least, policy.share * (mean + difference))
    return SpotCheck(mean, mean + difference, len(largest) + len(drawn), is_far)


def _choose(lost: Array, policy: SpotCheckPolicy, seed: int) -> tuple[Indices, Indices]:
    """Groups whose loss grows most, and a sample of the others."""
    order = np.argsort(-lost, kind="stable")
    rest = order[policy.n_largest :]
    drawn = np.random.default_rng(seed).permutation(rest)[: policy.n_random]
    return order[: policy.n_largest], drawn
