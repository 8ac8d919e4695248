"""Answers of a fitted multilabel classifier: probabilities of labels and of label sets, and decisions."""

import textwrap
from typing import Any, NoReturn

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from logikern.decisions.indicators import as_indicator
from logikern.decisions.label_forest import LabelForest
from logikern.decisions.label_sets import DECISIONS, SetDistribution, decide_sets
from logikern.estimators._fitted.frames import labelled_frame
from logikern.estimators._fitted.story import COLUMNS, explain
from logikern.estimators._inputs.arguments import check_name
from logikern.estimators._inputs.labels import refuse_missing
from logikern.estimators.classifier import KernelLogisticClassifier
from logikern.estimators.multilabel._comparison import StructureComparison
from logikern.estimators.multilabel._labels import column_names, match_columns
from logikern.estimators.multilabel._structures import FittedStructure
from logikern.model import persistence
from logikern.numerics.outcome import Array, Indices, Mask


class OfClassifier:
    """An attribute that is read from the inner fitted classifier."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        fitted = vars(instance).get("_fitted")
        found = {} if fitted is None else vars(fitted.classifier)
        if self.name not in found:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}")
        return found[self.name]

    def __set__(self, instance: Any, value: Any) -> NoReturn:
        raise AttributeError(f"{self.name!r} belongs to the fitted model and cannot be set")


class LabelSetAnswers:
    """Methods of a fitted multilabel classifier."""

    n_features_in_ = OfClassifier()
    feature_names_in_ = OfClassifier()
    encoder_ = OfClassifier()
    model_ = OfClassifier()
    dual_coef_ = OfClassifier()
    kernels_ = OfClassifier()
    variances_ = OfClassifier()
    criterion_value_ = OfClassifier()
    outcome_ = OfClassifier()
    n_iter_ = OfClassifier()
    trace_ = OfClassifier()
    newton_trace_ = OfClassifier()
    verdicts_ = OfClassifier()
    stopped_early_ = OfClassifier()
    plan_ = OfClassifier()
    operator_ = OfClassifier()

    classes_: Array
    structure_: str
    comparison_: StructureComparison | None
    interrupted_: bool
    label_sets_: Array
    _fitted: FittedStructure
    _obstacle: str

    @property
    def unseen_share_(self) -> float:
        """The probability of a label set that no training row has."""
        check_is_fitted(self)
        return self._fitted.unseen_share

    @property
    def set_classifier_(self) -> KernelLogisticClassifier:
        """The softmax over label sets."""
        if vars(self).get("structure_", "independent") == "independent":
            raise AttributeError("Only a fitted model with the joint or coupled structure has `set_classifier_`.")
        return self._fitted.classifier

    def _distribution(self, X: Any) -> SetDistribution:
        check_is_fitted(self)
        return self._fitted.space.complete(self._fitted.distribution(X))

    def predict_proba(self, X: Any) -> Array:
        """Probability of each label, (n_samples, n_labels)."""
        return self._distribution(X).marginals

    def predict_proba_frame(self, X: Any) -> Any:
        """Probabilities as a frame with one column per label and the row names of X.

        A polars frame for polars input, a pandas frame otherwise.
        """
        return labelled_frame(X, self.predict_proba(X), self.classes_)

    def predict(self, X: Any) -> Indices:
        """Indicators of the labels with a probability above one half, (n_samples, n_labels)."""
        return self.decide(X, "hamming")

    def decide(self, X: Any, loss: str = "hamming") -> Indices:
        """The label set with the smallest expected loss for each row, as indicators (n_samples, n_labels).

        Parameters
        ----------
        X : rows to predict
        loss : {"hamming", "subset", "f1"}, default="hamming"
            "hamming": the share of wrong labels; "subset": 1 unless all labels are right; "f1": one minus the F1
            score of the row's labels, which is 1 for two empty sets. The expected loss is minimised exactly.
        """
        check_name("loss", loss, tuple(DECISIONS))
        return decide_sets(self._distribution(X), loss).astype(np.int64)

    def predict_set_proba(self, X: Any, label_sets: Any = None) -> Array:
        """Probability of whole label sets, (n_samples, n_sets).

        Parameters
        ----------
        X : rows to predict
        label_sets : array of shape (n_sets, n_labels) or None, default=None
            Label sets as indicators. None means `label_sets_`, the sets of the training rows; the probabilities of a
            row then sum to less than 1, because other sets are possible too. With a hierarchy, a set that lacks an
            ancestor of one of its labels has probability 0.
        """
        distribution = self._distribution(X)
        return distribution.at_sets(self._sets(self.label_sets_ if label_sets is None else label_sets, "label_sets"))

    def set_log_proba(self, X: Any, y: Any) -> Array:
        """Log probability of the label set of each row, (n_samples,); the joint log loss is minus the mean.

        Parameters
        ----------
        X : rows to predict
        y : array, sparse matrix or frame of shape (n_samples, n_labels)
            Label sets as indicators. The columns of a frame are matched by name. With a hierarchy, missing ancestors
            of labels are added.
        """
        distribution, sets = self._distribution(X), self._label_sets_of(y)
        if len(sets) != len(distribution.marginals):
            raise ValueError(
                f"`y` must have as many rows as `X` ({len(distribution.marginals)}), but has {len(sets)}."
            )
        return distribution.log_probability(sets)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose labels are all correct.

        Parameters
        ----------
        X : rows to predict
        y : array, sparse matrix or frame of shape (n_samples, n_labels)
            Label sets as indicators. The columns of a frame are matched by name.
        sample_weight : array of shape (n_samples,) or None, default=None
        """
        predicted = self.predict(X)
        return float(accuracy_score(self._label_sets_of(y), predicted, sample_weight=sample_weight))

    def _label_sets_of(self, y: Any) -> Mask:
        """The labels of rows, with the ancestors of each label, (n, L)."""
        refuse_missing(y)
        return LabelForest(self._fitted.space.parents).close(self._sets(y, "y"))

    def _sets(self, values: Any, name: str) -> Mask:
        sets, names = as_indicator(values, name), column_names(values)
        if sets.shape[1] != len(self.classes_):
            raise ValueError(
                f"`{name}` must have a column for each of the {len(self.classes_)} labels, but has {sets.shape[1]}."
            )
        known = self.classes_.tolist()
        if names is None or names.tolist() == known or known == list(range(len(known))):
            return sets
        return sets[:, match_columns(names.tolist(), known, name)]

    @property
    def hyperparameters_(self) -> Any:
        """Name, label or label set, value and starting value of each hyperparameter, as a frame."""
        check_is_fitted(self)
        return self._fitted.classifier.hyperparameters_

    def explain(self) -> str:
        """Describe the label structure, the final model, the models that it was compared with, and the plan."""
        check_is_fitted(self)
        reason = self._obstacle or (str(self.comparison_) if self.comparison_ else "")
        indented = textwrap.fill(reason, COLUMNS, initial_indent="  ", subsequent_indent="    ")
        given = " given their parents" if self.structure_ == "independent" and "tree_" in vars(self) else ""
        told = f"Structure of the labels: {self.structure_}{given}." + (f"\n{indented}" if reason else "")
        return f"{told}\n\n{explain(self._fitted.classifier.__dict__, self._fitted.words)}"

    def save_model(self, path: Any) -> None:
        """Write the fitted estimator to a file that `logikern.load_model` reads without running code."""
        check_is_fitted(self)
        persistence.save_model(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return "structure_" in vars(self)
