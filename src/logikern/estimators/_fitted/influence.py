"""Leave-one-out predictions of the training rows, and rows whose labels look wrong."""

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from logikern.criteria.leave_one_out.criterion import leave_out_by_landmarks
from logikern.criteria.leave_one_out.expansion import ExactExpansion
from logikern.criteria.leave_one_out.refits import exact_leave_one_out
from logikern.estimators import _memory
from logikern.estimators._fitted.doubts import check_fit, tell
from logikern.estimators._inputs.arguments import check_whole
from logikern.estimators._names.solvers import refitting_solver
from logikern.estimators._parameters import parse_memory
from logikern.estimators._run import threads
from logikern.fitting.footprint import Size, search_conditioning
from logikern.fitting.problem import FitResult, Problem
from logikern.model.fitted import FittedModel
from logikern.numerics.outcome import Array, Outcome
from logikern.numerics.simplex import log_probabilities
from logikern.operators.choose import choose


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
    model_: FittedModel
    _seed: int

    @property
    def loo_proba_(self) -> Array:
        """Probabilities of each training row without it, (n_samples, n_classes), approximately.

        One Newton step without the row, in closed form (Cawley & Talbot 2008, for any number of classes). A sample of
        rows is checked by refits. A warning says if the closed form is far from them, which may happen at large
        variances.
        Computed on first access, in O(n_classes * n^3). With many rows it is computed from few landmarks, which makes
        it too pessimistic; see `loo_method_`. It is nan for rows without weight.
        """
        return np.exp(self._loo_log_proba())

    @property
    def loo_method_(self) -> str:
        """How `loo_proba_` is computed: "exact" (given the Newton step), or "low rank" with the rank."""
        rank = self._loo_rank()
        return f"low rank, {rank}: losses are overestimated" if rank else "exact"

    @property
    def loo_log_loss_(self) -> float:
        """Weighted mean of the negative log probabilities that `loo_proba_` gives to the labels."""
        data = self._training_data()
        return float(np.average(self._loo_losses(), weights=data.weights))

    def exact_loo(self) -> Array:
        """`loo_proba_` by refits without each row, (n_samples, n_classes): slow, a reference."""
        with threads(self.n_jobs):
            data, size, specification = self._training_data(), self._loo_size(), self.model_.specification
            is_free = bool(np.isinf(specification.bias_variance))
            batch = _memory.refits_at_a_time(data, self._resources(), size, specification.kernels[0], is_free)
            problem, latent = self._final_problem()
            memory = search_conditioning(replace(size, n_batch=batch))
            solver = refitting_solver(specification.bias_variance, USUAL.refit_tolerance, memory, self._seed)
            refits = exact_leave_one_out(problem, solver, start=latent, batch=batch)
        if not refits.outcome.converged:
            raise ValueError(f"A refit without one of the rows failed: {refits.outcome.value}")
        return np.exp(self._on_all_rows(self._log_probabilities(refits.latent)))

    def suspects(self, n_suspects: int | None = None) -> Any:
        """Training rows sorted by their leave-one-out loss, largest first.

        A row that the other rows contradict often has a wrong label.

        Parameters
        ----------
        n_suspects : int or None, default=None
            Number of rows; None gives all.

        Returns
        -------
        frame with the columns row, label, probability, likely, loss
            `row` is the position in the training data, from 0. `label` is the given label (the most probable one of a
            distribution) and `probability` its leave-one-out probability. `likely` is the most probable label without
            the row. If X was a pandas frame, the result has its index: `X.loc[suspects.index]` shows the rows.
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
                rank, data, kernel = self._loo_rank(), self._training_data(), self.model_.specification.kernels[0]
                size = self._loo_size()
                room = _memory.check_leave_one_out(data, self._resources(), rank, size, kernel)
                problem, latent = self._final_problem(room if rank else None)
                dual = self.model_.dual[None]
                result = FitResult(dual, latent, np.zeros(1), (Outcome.CONVERGED,), (), 0)
                left_out = _leave_out(problem, result, rank, self._seed)
                specification = self.model_.specification
                found = None if rank else check_fit(specification, problem, latent, left_out, self._seed, size)
            tell(found, "Use `exact_loo`, which refits without each row, or cross-validate.", stacklevel=3)
            kept = self._on_all_rows(self._log_probabilities(left_out))
            self.__dict__["_left_out"] = kept
        return kept

    def _log_probabilities(self, latent: Array) -> Array:
        """Log probabilities of the model from latents, (C, n)."""
        return log_probabilities(self.model_.specification.temperature.apply(latent))

    def _on_all_rows(self, log_proba: Array) -> Array:
        """From (C, n) for the rows with weight to (n_rows, C), nan for the others."""
        data = self._training_data()
        result = np.full((data.n_rows, len(data.classes)), np.nan)
        result[data.kept] = log_proba.T
        return result

    def _final_problem(self, room: float | None = None) -> tuple[Problem, Array]:
        """The problem of the final fit, in double precision, and its latents.

        Its kernel matrices are stored, unless `room` limits the bytes of kernel values. They are then computed for a
        few rows at a time, which suffices for landmarks.
        """
        data = self._training_data()
        specification = self.model_.specification
        how = choose(specification.kernels, data.points, "dense" if room is None else "auto", "double", room)
        if room is not None and how.name == "dense":
            how = replace(how, name="tiled")
        covariance = specification.bind(how.points(data.points))
        finite = covariance
        if np.isinf(specification.bias_variance):
            finite = replace(covariance, bias_variance=0.0)
        latent = finite.matmul(self.model_.dual[None])
        if np.isinf(specification.bias_variance):
            latent += self.model_.constants[:, None]
        return Problem(covariance, data.likelihood, data.targets, data.weights[None]), latent

    def _resources(self) -> _memory.Resources:
        return _memory.find_resources(parse_memory(self.memory_limit))

    def _loo_size(self) -> Size:
        """Sizes of the problem; leave-one-out needs labels that are classes."""
        data = self._training_data()
        if len(data.targets) != len(data.classes):
            raise ValueError(
                "Leave-one-out needs labels that are classes, but some are inner nodes of the hierarchy. Use "
                "cross-validation."
            )
        return _memory.size_of(data, self.model_.specification.tying)

    def _loo_rank(self) -> int:
        """Rank of the factors that replace the kernel matrices; zero for dense factors."""
        data = self._training_data()
        n_points, n_classes = len(data.weights), len(data.classes)
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
                "Leave-one-out of all classes together is not available with one_vs_rest=True. "
                "Use the models in `binaries_`."
            )
        data = self.__dict__.get("_training")
        if data is None:
            raise AttributeError(
                "Leave-one-out needs the training labels, which a model file does not contain. Use it before saving "
                "the model, or fit again."
            )
        return data


def _leave_out(problem: Problem, result: FitResult, rank: int, seed: int) -> Array:
    try:
        if rank:
            return leave_out_by_landmarks(problem, result, rank, seed)
        return ExactExpansion(problem, result).leave_out()
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "Leave-one-out cannot be computed: without one of its rows, this fit has no optimum in double precision. "
            "Use a smaller variance."
        ) from error
