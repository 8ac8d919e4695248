"""Leave-one-out predictions of the training rows, and rows whose labels look wrong."""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from logikern.criteria.leave_one_out.criterion import leave_out_by_landmarks
from logikern.criteria.leave_one_out.expansion import ExactExpansion
from logikern.criteria.leave_one_out.refits import exact_leave_one_out
from logikern.criteria.leave_one_out.spot_check import SpotCheck
from logikern.estimators import _memory
from logikern.estimators._fitted.doubts import check_fit, tell
from logikern.estimators._fitted.parts import AnyModel, Part, is_coupled, largest_part, partitions
from logikern.estimators._inputs.arguments import check_whole
from logikern.estimators._names.solvers import refitting_solver
from logikern.estimators._parameters import parse_memory
from logikern.estimators._run import threads
from logikern.fitting.footprint import Size, search_conditioning
from logikern.fitting.problem import FitResult, Solver
from logikern.model.neighbourhoods import NeighbourhoodModel, mean_latents
from logikern.numerics.outcome import Array, Outcome
from logikern.numerics.simplex import log_probabilities


@dataclass(frozen=True)
class InfluencePolicy:
    """How leave-one-out after a fit is computed."""

    # Classes times points cubed up to which dense factors take seconds; above it, landmarks are used.
    largest_work: float = 2e11
    largest_rank: float = 3000  # largest number of landmarks, over all classes
    largest_product: float = 1.25e8  # largest number of landmarks times points times squared classes
    refit_tolerance: float = 1e-6  # tolerance of refits without a row


USUAL = InfluencePolicy()


class InfluenceMixin:
    """Leave-one-out predictions of the training rows, from the final fit."""

    n_jobs: int | None
    memory_limit: Any
    model_: AnyModel
    _seed: int

    @property
    def loo_proba_(self) -> Array:
        """Approximate leave-one-out probabilities of the training rows, (n_samples, n_classes).

        Each row is predicted by the model after one Newton step without this row, in closed form (Cawley & Talbot
        2008, for any number of classes). A sample of rows is checked by refits. A warning is issued if the closed
        form is far from the refits, which may happen at large variances.

        The attribute is computed on first access, in O(n_classes * n^3). With many rows, it is computed from a few
        landmarks, which makes it too pessimistic; see `loo_method_`. It is nan for rows of weight zero.

        If the fit is divided into neighbourhoods, each row is left out of its neighbourhood in every partition, and
        probabilities are averaged as in predictions.
        """
        return np.exp(self._loo_log_proba())

    @property
    def loo_method_(self) -> str:
        """How `loo_proba_` is computed: "exact" (apart from the use of a single Newton step) or low-rank."""
        rank = self._loo_rank()
        told = f"low-rank approximation (rank {rank}), which overestimates losses" if rank else "exact"
        if not isinstance(self.model_, NeighbourhoodModel):
            return told
        fixed = " with the other neighbourhoods fixed" if is_coupled(self.model_) else ""
        n_partitions = len(self.model_.members)
        averaged = f", and results are averaged over {n_partitions} partitions" if n_partitions > 1 else ""
        return f"{told}; each row is left out of its own neighbourhood{fixed}{averaged}"

    @property
    def loo_log_loss_(self) -> float:
        """Weighted mean over rows of -log(probability of the label), with the probabilities from `loo_proba_`."""
        data = self._training_data()
        return float(np.average(self._loo_losses(), weights=data.weights))

    def exact_loo(self) -> Array:
        """Leave-one-out probabilities by one refit per row, (n_samples, n_classes); slow, for reference."""
        data, size, specification = self._training_data(), self._loo_size(), self.model_.specification
        if is_coupled(self.model_):
            raise ValueError(
                "`exact_loo` would have to refit all neighbourhoods once for every row, because landmarks couple "
                "them. Use `loo_proba_`, or fit with landmarks=0."
            )
        with threads(self.n_jobs):
            is_free = bool(np.isinf(specification.bias_variance))
            batch = _memory.refits_at_a_time(data, self._resources(), size, specification.kernels[0], is_free)
            memory = search_conditioning(replace(size, n_batch=batch))
            solver = refitting_solver(specification.bias_variance, USUAL.refit_tolerance, memory, self._seed)
            found = [
                self._gather(parts, lambda part: _refit(part, solver, batch))
                for parts in partitions(self.model_, data)
            ]
        return np.exp(self._on_all_rows(found))

    def suspects(self, n_suspects: int | None = None) -> Any:
        """Training rows sorted by their leave-one-out loss, largest first.

        A row that the other rows contradict often has a wrong label.

        Parameters
        ----------
        n_suspects : int or None, default=None
            Number of rows to return; None returns all.

        Returns
        -------
        frame with the columns row, label, probability, likely, loss
            `row` is the position in the training data, counted from 0. `label` is the given label (for a
            distribution, its most probable label), and `probability` is the leave-one-out probability of this label.
            `likely` is the label that is most probable if the row is left out. If X was a pandas frame, the result
            has the index of X: `X.loc[suspects.index]` shows the rows.
        """
        if n_suspects is not None:
            check_whole("n_suspects", n_suspects, 1)
        import pandas as pd

        data, losses = self._training_data(), self._loo_losses()
        order = np.argsort(-losses, kind="stable")[:n_suspects]
        proba = np.exp(self._loo_log_proba()[data.kept[order]])
        given = data.targets[:, order].argmax(axis=0)
        return pd.DataFrame(
            {
                "row": data.kept[order],
                "label": data.classes[given],
                "probability": proba[np.arange(len(order)), given],
                "likely": data.classes[proba.argmax(axis=1)],
                "loss": losses[order],
            },
            index=None if data.row_names is None else data.row_names[data.kept[order]],
        )

    def _loo_losses(self) -> Array:
        data = self._training_data()
        log_proba = self._loo_log_proba()[data.kept].T
        # A target of zero has no loss, however small the probability.
        return -np.where(data.targets > 0, data.targets * log_proba, 0.0).sum(axis=0)

    def _loo_log_proba(self) -> Array:
        kept: Array | None = self.__dict__.get("_left_out")
        if kept is None:
            with threads(self.n_jobs):
                rank, data, size = self._loo_rank(), self._training_data(), self._loo_size()
                kernel = self.model_.specification.kernels[0]
                room = _memory.check_leave_one_out(data, self._resources(), rank, size, kernel)
                leaving = Leaving(rank, room, self._seed)
                found = [self._gather(parts, leaving.leave_out) for parts in partitions(self.model_, data)]
                check = self._check(found[0], leaving, size)
            tell(check, "Use `exact_loo`, which refits once for every row, or use cross-validation.", stacklevel=3)
            kept = self._on_all_rows(found)
            self.__dict__["_left_out"] = kept
        return kept

    def _gather(self, parts: Iterable[Part], leave_out: Callable[[Part], Array]) -> Array:
        """Latents of left-out rows, computed part by part, (C, n)."""
        data = self._training_data()
        latent = np.empty((len(data.classes), len(data.weights)))
        for part in parts:
            latent[:, part.rows] = leave_out(part)
        return latent

    def _check(self, left_out: Array, leaving: "Leaving", size: Size) -> SpotCheck | None:
        """Refits without some rows of the first part, unless it depends on others or on landmarks."""
        if leaving.rank or is_coupled(self.model_):
            return None
        first = next(next(partitions(self.model_, self._training_data())))
        problem, latent = first.problem()
        return check_fit(self.model_.specification, problem, latent, left_out[:, first.rows], self._seed, size)

    def _on_all_rows(self, found: list[Array]) -> Array:
        """Log probabilities (n_rows, C) from latents (C, n) of each partition; nan for rows without weight."""
        data, temperature = self._training_data(), self.model_.specification.temperature
        result = np.full((data.n_rows, len(data.classes)), np.nan)
        result[data.kept] = log_probabilities(mean_latents([temperature.apply(own).T for own in found]).T).T
        return result

    def _resources(self) -> _memory.Resources:
        return _memory.find_resources(parse_memory(self.memory_limit))

    def _loo_size(self) -> Size:
        """Sizes of the largest problem; leave-one-out needs labels that are classes."""
        data = self._training_data()
        if len(data.targets) != len(data.classes):
            raise ValueError(
                "Leave-one-out needs labels that are classes, but some are inner nodes of the hierarchy. Use "
                "cross-validation."
            )
        return _memory.size_of(data, self.model_.specification.tying, largest_part(self.model_))

    def _loo_rank(self) -> int:
        """Rank of the factors that replace the kernel matrices; zero for dense factors."""
        data = self._training_data()
        n_points, n_classes = largest_part(self.model_), len(data.classes)
        is_free = np.isinf(self.model_.specification.bias_variance)
        if is_free or n_classes * n_points**3 <= USUAL.largest_work:
            return 0
        by_work = USUAL.largest_product / (n_points * n_classes**2)
        return int(np.clip(min(USUAL.largest_rank / n_classes, by_work), 4, n_points))

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """The attributes that scikit-learn shows in a notebook, without computing leave-one-out."""
        # Without its training data the copy has no leave-one-out.
        shown = copy.copy(self)
        shown.__dict__.pop("_training", None)
        whole: Any = super(InfluenceMixin, shown)
        return whole._get_fitted_attr_html(doc_link)

    def _training_data(self) -> Any:
        """The training data; an AttributeError without it, so that dependent attributes do not exist either."""
        check_is_fitted(self)
        if "binaries_" in self.__dict__:
            raise AttributeError(
                "Leave-one-out for all classes together is not available with one_vs_rest=True. "
                "Use the models in `binaries_`."
            )
        data = self.__dict__.get("_training")
        if data is None:
            raise AttributeError(
                "Leave-one-out needs the training labels, which a model file does not contain. Use it before saving "
                "the model, fit again, or run the command `logikern suspects MODEL`, which can recover the labels if "
                "the fit used no weights."
            )
        return data


@dataclass(frozen=True)
class Leaving:
    """How rows are left out of a part in closed form."""

    rank: int  # landmarks of each kernel; 0 for dense factors
    room: float  # bytes for kernel values, if there are landmarks
    seed: int

    def leave_out(self, part: Part) -> Array:
        """Latents of every row, predicted without it, (C, n)."""
        problem, latent = part.problem(self.room if self.rank else None)
        result = FitResult(part.model.dual[None], latent, np.zeros(1), (Outcome.CONVERGED,), (), 0)
        try:
            if self.rank:
                return leave_out_by_landmarks(problem, result, min(self.rank, problem.shape[2]), self.seed)
            return ExactExpansion(problem, result).leave_out()
        except np.linalg.LinAlgError as error:
            raise ValueError(
                "Leave-one-out cannot be computed: without one of its rows, this fit has no optimum in double "
                "precision. Use a smaller variance."
            ) from error


def _refit(part: Part, solver: Solver, batch: int) -> Array:
    """Latents of every row from a fit without it, (C, n)."""
    problem, latent = part.problem()
    refits = exact_leave_one_out(problem, solver, start=latent, batch=batch)
    if not refits.outcome.converged:
        raise ValueError(
            f"A refit without one of the rows failed: {refits.outcome.value} Use a smaller variance, or use "
            "cross-validation."
        )
    return refits.latent
