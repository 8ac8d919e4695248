"""`random_state` decides everything that is drawn: in the fit, in refits, and in what is asked afterwards."""

import contextlib

import numpy as np
import pytest

from logikern import KernelLogisticClassifier
from logikern.estimators._fitted import influence as _influence
from logikern.fitting.pairwise.solver import Smo
from logikern.fitting.pointwise import schedule
from logikern.fitting.pointwise.solver import PointwiseAscent
from logikern.fitting.preconditioning.adaptive import LowRankConditioning
from tests.estimators.samples import NAMES, X, fixed
from tests.fitting.texts import texts
from tests.policies import change_policy

TEXTS, SUBJECTS = texts(60), np.arange(60) % 3


class EnoughError(Exception):
    """What is to be known is known; visits need not be compiled for it."""


def spy(patch, kind, method, seeds, ends=False):
    """Write down the seed of whoever is called."""
    inner = getattr(kind, method)

    def watched(self, *arguments, **settings):
        seeds.append(self.seed)
        if ends:
            raise EnoughError
        return inner(self, *arguments, **settings)

    patch.setattr(kind, method, watched)


def drawn_by(act, seed):
    """The distinct seeds of all that draws: random pivots, orders of sweeps and of visits, landmarks."""
    seeds = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(schedule.POLICY), "worthwhile_from", 0)
        change_policy(patch, _influence, largest_work=0)
        patch.setattr(
            _influence,
            "leave_out_by_landmarks",
            lambda problem, result, rank, seed=0: seeds.append(seed) or np.zeros(problem.shape[1:]),
        )
        spy(patch, LowRankConditioning, "prepare", seeds)
        spy(patch, Smo, "fit", seeds)
        spy(patch, PointwiseAscent, "fit", seeds, ends=True)
        with contextlib.suppress(EnoughError):
            act(seed)
    return set(seeds)


ACTS = {
    "newton": lambda seed: fixed(solver="newton", random_state=seed).fit(X, NAMES),
    "smo": lambda seed: fixed(solver="smo", random_state=seed).fit(X[::3], NAMES[::3]),
    "visits": lambda seed: fixed("linear", solver="newton", random_state=seed).fit(TEXTS, SUBJECTS),
    "visits of a search": lambda seed: KernelLogisticClassifier(
        "linear", solver="newton", cv=2, random_state=seed
    ).fit(TEXTS, SUBJECTS),
    "refits": lambda seed: fixed(random_state=seed).fit(X[::5], NAMES[::5]).exact_loo(),
    "landmarks": lambda seed: fixed(random_state=seed).fit(X, NAMES).suspects(1),
}


@pytest.mark.parametrize("name", ACTS)
def test_all_that_is_drawn_follows_random_state(name):
    first, again, other = (drawn_by(ACTS[name], seed) for seed in (1, 1, 2))
    assert first and first == again and not first & other


def test_asking_draws_nothing_from_a_generator():
    generator = np.random.RandomState(0)
    model = fixed(random_state=generator).fit(X[::3], NAMES[::3])
    before = generator.get_state()[2]
    model.exact_loo()
    assert generator.get_state()[2] == before
