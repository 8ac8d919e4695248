"""The cost of a division into neighbourhoods: held-out losses, compared with neighbourhoods of twice the size."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from logikern.estimators._cells.fit import CellFitter
from logikern.estimators._inputs.subsets import data_at
from logikern.fitting.problem import no_callback
from logikern.model.neighbourhoods import Approximation, NeighbourhoodModel
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each


@dataclass(frozen=True)
class CheckPolicy:
    """Size of a check.

    Parameters
    ----------
    n_cells : int, default=2
        Number of neighbourhoods of twice the size that are drawn.
    held_out : float, default=0.2
        Share of the rows of each neighbourhood that is held out.
    """

    n_cells: int = 2
    held_out: float = 0.2


USUAL = CheckPolicy()


def check_cells(fitter: CellFitter, seed: int) -> Approximation | None:
    """Fit neighbourhoods of twice the size, whole and in halves; None if the plan has no check or a fit fails."""
    size = fitter.plan.checked
    if not size:
        return None
    random = np.random.default_rng(seed)
    _, cells = fitter.divide(seed, 2 * size)
    drawn = [cells[place] for place in random.permutation(len(cells))[: USUAL.n_cells]]
    pairs = [_split(random.permutation(cell)) for cell in drawn]
    tasks: list[Callable[[], Array | None]] = []
    for n_parts in (1, 2):  # the longest first
        tasks += [partial(_losses, fitter, kept, held_out, n_parts, seed) for kept, held_out in pairs]
    found = [losses for losses in for_each(lambda task: task(), tasks) if losses is not None]
    if len(found) < len(tasks):
        return None
    whole, cut = (np.concatenate(found[start : start + len(pairs)]) for start in (0, len(pairs)))
    weights = fitter.data.weights[np.concatenate([held_out for _, held_out in pairs])]
    difference = float(np.average(cut - whole, weights=weights))
    noise = np.sqrt(np.sum((weights * (cut - whole - difference)) ** 2)) / weights.sum()
    larger = float(np.average(whole, weights=weights))
    n_kept = round(np.mean([len(kept) for kept, _ in pairs]) / 2)
    return Approximation(n_kept, larger + difference, larger, float(noise), len(weights))


def _split(rows: Indices) -> tuple[Indices, Indices]:
    """Rows that are fitted, and rows that are held out."""
    n_held_out = max(1, int(USUAL.held_out * len(rows)))
    return np.sort(rows[n_held_out:]), np.sort(rows[:n_held_out])


def _losses(fitter: CellFitter, kept: Indices, held_out: Indices, n_parts: int, seed: int) -> Array | None:
    """Losses (m,) of held-out rows, from a fit to the other rows in some parts; None if the fit fails."""
    data, plan = fitter.data, replace(fitter.plan, size=-(-len(kept) // n_parts))
    own = replace(fitter, data=data_at(data, kept), plan=plan)
    member, result = own.fit(seed, no_callback)
    if not result.outcome.converged:
        return None
    model = NeighbourhoodModel(fitter.recipe.specification, own.data.points, (member,))
    latent = model.latents(data.points[held_out]).T[None]
    return data.likelihood.losses(latent, data.targets[:, held_out])[0]
