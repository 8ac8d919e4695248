"""Whether leave-one-out in closed form can be believed: some rows are left out by fitting again."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.criteria.leave_one_out.groups import partition
from logikern.criteria.leave_one_out.refits import exact_leave_one_out
from logikern.fitting.problem import Problem, Solver
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.temperature import Temperature


class Refitting(NamedTuple):
    """How rows are left out by fitting again: the solver, and how many fits are in lock-step."""

    solver: Solver
    batch: int


@dataclass(frozen=True)
class SpotCheckPolicy:
    """How much is fitted again, and what counts as far.

    Parameters
    ----------
    n_largest : int, default=5
        Groups, or rows, whose loss grows most when they are left out: errors are largest there.
    n_random : int, default=25
        Further ones, drawn at random. They stand for all others.
    least : float, default=0.05
        Differences of the mean loss below this do not matter, nor is anything checked where leaving out changes it
        by less.
    share : float, default=0.15
        Of the mean loss of refits: smaller differences are usual. On 13 tables of 50 and 120 rows they are a few per
        cent where hyperparameters were learned, and up to 37 per cent at a variance of 300.
    """

    n_largest: int = 5
    n_random: int = 25
    least: float = 0.05
    share: float = 0.15


USUAL, NEUTRAL = SpotCheckPolicy(), Temperature()


class SpotCheck(NamedTuple):
    """Mean losses of all rows left out: in closed form, and as refits of some suggest.

    Attributes
    ----------
    closed_form, refitted : float
    n_refits : int
    is_far : bool
    """

    closed_form: float
    refitted: float
    n_refits: int
    is_far: bool

    def __str__(self) -> str:
        kind = "too small" if self.refitted > self.closed_form else "too large"
        return (
            f"Leave-one-out in closed form is far from refits: its mean loss of {self.closed_form:.2f} is {kind}. "
            f"{self.n_refits} refits without a row suggest {self.refitted:.2f}"
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
    """Compare closed form and refits; None where nothing is to be checked, or where refits do not converge.

    Parameters
    ----------
    problem : Problem
        With one weighting.
    latent : array of shape (1, C, n)
        Of the fit to all points.
    left_out : array of shape (C, n)
        Of every point without its group, in closed form.
    refitting : Refitting
    seed : int
        Of the groups drawn.
    groups : array of shape (n,) or None, default=None
        Points of equal labels are left out together; None leaves out one at a time.
    temperature : Temperature
        At which losses are taken.
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
    """Groups that lose most, and some of the others."""
    order = np.argsort(-lost, kind="stable")
    rest = order[policy.n_largest :]
    drawn = np.random.default_rng(seed).permutation(rest)[: policy.n_random]
    return order[: policy.n_largest], drawn
