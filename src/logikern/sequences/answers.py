"""What a fitted sequence model predicts: labels, probabilities, samples, likelihoods."""

from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from logikern.encoding.encoder import Encoder
from logikern.estimators._fitted.description import describe_model
from logikern.estimators._fitted.frames import hyperparameter_frame
from logikern.estimators._fitted.story import Words, explain_sequences
from logikern.estimators._inputs.arguments import check_whole
from logikern.estimators._inputs.data import check_largest
from logikern.estimators._inputs.tables import as_table, require_rows
from logikern.model import persistence
from logikern.numerics.outcome import Array, Indices, Outcome
from logikern.sequences.hyperparameters import FieldSpecification
from logikern.sequences.inputs import GivenSequences, SequenceRows, read_labels, read_sequences
from logikern.sequences.model import SequenceModel

# Pairs of labels that a description names.
NAMED_PAIRS = 3
WORDS = Words("class", "the mean log loss per position of held-out sequences")


class SequenceAnswers:
    """Methods of a fitted `KernelSequenceClassifier`."""

    classes_: Array
    decoding: str
    encoder_: Encoder
    specification_: FieldSpecification
    first_specification_: FieldSpecification
    transition_: Array
    vectorizer_: DictVectorizer | None
    _model: SequenceModel

    def _table(self, given: GivenSequences, is_chosen: bool, reset: bool) -> Any:
        """The rows as an array or a table.

        With `reset` (in `fit`), the number and names of the columns are stored; otherwise, they must be those of the
        fit. With `is_chosen`, columns of an array of numbers may be categories (see `categorical_features`).
        """
        rows = given.rows if self.vectorizer_ is None else self.vectorizer_.transform(given.rows)
        table = as_table(rows, is_chosen)
        if table is None:
            form = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}
            return validate_data(self, rows, reset=reset, **form)
        table = validate_data(self, table, skip_check_array=True, reset=reset)
        require_rows(table)
        return table

    def _read(self, X: Any, groups: Any) -> SequenceRows:
        """New sequences, checked against the fit and encoded."""
        check_is_fitted(self)
        given = read_sequences(X, groups)
        if given.has_dicts != (self.vectorizer_ is not None):
            fitted, came = ("arrays", "feature dicts") if given.has_dicts else ("feature dicts", "arrays")
            raise ValueError(f"The model was fitted to {fitted}, but `X` has {came}. Pass {fitted}.")
        inputs = self.encoder_.transform(self._table(given, bool(self.encoder_.levels), reset=False))
        check_largest(inputs)
        return given.encoded(inputs)

    def save_model(self, path: Any) -> None:
        """Write the fitted estimator to a file that `logikern.load_model` reads without running code."""
        check_is_fitted(self)
        persistence.save_model(self, path)

    def explain(self) -> str:
        """Describe the final model, its transitions, the search and the fit."""
        check_is_fitted(self)
        own = self.specification_
        described = describe_model(own.positions, self.classes_, WORDS.unit, self.encoder_)
        described += _describe_chains(own, self.transition_, self.classes_)
        return explain_sequences(vars(self), described, int(own.is_learned.sum()), WORDS)

    @property
    def hyperparameters_(self) -> Any:
        """Name, labels, value and starting value of each hyperparameter, as a frame."""
        check_is_fitted(self)
        own, first = self.specification_, self.first_specification_
        frame = hyperparameter_frame(own.positions, first.positions, self.classes_, self.encoder_)
        for (name, value), start in zip(_named(own).items(), _named(first).values(), strict=True):
            frame.loc[len(frame)] = [name, "all", value, start]
        return frame

    @property
    def n_training_rows_(self) -> int:
        """Number of positions in the training sequences."""
        return self._model.positions.n_compared

    def __sklearn_is_fitted__(self) -> bool:
        return isinstance(vars(self).get("outcome_"), Outcome)

    def predict(self, X: Any, groups: Any = None) -> Any:
        """Labels of sequences, decoded according to `decoding`.

        Parameters
        ----------
        X : list of sequences, or table with groups
        groups : array of shape (n_rows,) or None, default=None

        Returns
        -------
        labels : list of arrays of shape (length,), or array of shape (n_rows,) for a table
        """
        own = self._read(X, groups)
        return own.give_back(self._decode(own))

    def _decode(self, own: SequenceRows) -> Array:
        """Labels of all rows, (n,)."""
        if self.decoding == "positions":
            best = self._model.marginals(own.rows, own.offsets).argmax(axis=1)
        else:
            best = self._model.best_labels(own.rows, own.offsets)
        labels: Array = self.classes_[best]
        return labels

    def predict_marginals(self, X: Any, groups: Any = None) -> Any:
        """Probabilities of the labels at each position, given the whole sequence.

        Parameters
        ----------
        X : list of sequences, or table with groups
        groups : array of shape (n_rows,) or None, default=None

        Returns
        -------
        probabilities : list of arrays of shape (length, n_classes), or one array for a table
        """
        own = self._read(X, groups)
        return own.give_back(self._model.marginals(own.rows, own.offsets))

    def predict_proba(self, X: Any, groups: Any = None) -> Any:
        """The same as `predict_marginals`.

        Parameters
        ----------
        X : list of sequences, or table with groups
        groups : array of shape (n_rows,) or None, default=None

        Returns
        -------
        probabilities : list of arrays of shape (length, n_classes), or one array for a table
        """
        return self.predict_marginals(X, groups)

    def sample(self, X: Any, n: int = 1, random_state: Any = None, groups: Any = None) -> Any:
        """Draw whole sequences of labels from their distribution.

        Parameters
        ----------
        X : list of sequences, or table with groups
        n : int, default=1
            Number of independent draws.
        random_state : int, RandomState instance or None, default=None
        groups : array of shape (n_rows,) or None, default=None

        Returns
        -------
        labels : list of arrays of shape (n, length), or array of shape (n, n_rows) for a table
        """
        check_whole("n", n, 1)
        own = self._read(X, groups)
        drawn = self._model.draw(own.rows, own.offsets, n, check_random_state(random_state))
        given = own.give_back(self.classes_[drawn.T])
        return [one.T for one in given] if isinstance(given, list) else given.T

    def log_likelihood(self, X: Any, y: Any, groups: Any = None) -> Array:
        """Log probability of the labels of each sequence.

        Parameters
        ----------
        X : list of sequences, or table with groups
        y : list of sequences of labels, or array of shape (n_rows,) for a table
        groups : array of shape (n_rows,) or None, default=None

        Returns
        -------
        values : array of shape (n_sequences,)
            For a table, sequences are in the order of their first rows.
        """
        own = self._read(X, groups)
        return self._model.log_likelihoods(own.rows, own.offsets, self._number(y, own))

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """Share of positions with the correct label.

        Parameters
        ----------
        X : list of sequences, or table with groups
        y : list of sequences of labels, or array of shape (n_rows,) for a table
        groups : array of shape (n_rows,) or None, default=None
        """
        own = self._read(X, groups)
        right = self.classes_[self._number(y, own)]
        return float(np.mean(self._decode(own) == right))

    def _number(self, y: Any, own: SequenceRows) -> Indices:
        """The numbers of known labels in `classes_`, (n,)."""
        labels = read_labels(y, own).tolist()
        place = {label: number for number, label in enumerate(self.classes_.tolist())}
        unknown = sorted(set(labels) - set(place), key=str)
        if unknown:
            raise ValueError(
                f"`y` has labels that the model does not know: {unknown!r}. It knows {self.classes_.tolist()!r}."
            )
        return np.array([place[label] for label in labels], dtype=np.intp)


def _describe_chains(own: FieldSpecification, transition: Array, labels: Array) -> list[str]:
    """One line each for the prior of transitions, the pairs of labels, the loss of positions, and the window."""
    mean = "mean zero"
    if np.isfinite(own.pseudocount):
        counted = "the transition counts of the training labels"
        mean = f"mean estimated from {counted}, with pseudocount {own.pseudocount:.3g}"
    lines = [f"Prior of the transition scores: variance {own.transition_variance:.3g}; {mean}."]
    order, n_named = np.argsort(transition, axis=None, kind="stable"), min(NAMED_PAIRS, transition.size // 2)
    likely, unlikely = order[::-1][:n_named], order[:n_named]
    named = [_name_pairs(transition, chosen, labels) for chosen in (likely, unlikely)]
    lines.append(f"Highest scores: {named[0]}. Lowest: {named[1]}.")
    if own.piecewise:
        lines.append(
            f"The training loss is the log loss of the sequences plus {own.piecewise:.3g} (`piecewise`) times the "
            "log loss of each position on its own."
        )
    if own.window:
        told = [f"{weight:.2g} at {step}" for step, weight in zip(_steps_of(own), own.window, strict=True)]
        lines.append(f"Weights of neighbouring inputs, where the position itself has weight 1: {', '.join(told)}.")
    return lines


def _name_pairs(transition: Array, chosen: Indices, labels: Array) -> str:
    """Pairs of labels with their scores."""
    pairs = zip(*np.unravel_index(chosen, transition.shape), strict=True)
    return ", ".join(f"{labels[two]} after {labels[one]} ({transition[one, two]:.2f})" for one, two in pairs)


def _steps_of(own: FieldSpecification) -> list[str]:
    """The offsets of the neighbours in a window."""
    reach = len(own.window) // 2
    return [f"{step:+d}" for step in range(-reach, reach + 1) if step]


def _named(own: FieldSpecification) -> dict[str, float]:
    """Hyperparameters outside the covariance of positions, by name; weights of a window by their offset."""
    found = {name: getattr(own, name) for name in ("transition_variance", "pseudocount", "piecewise")}
    return found | {f"window {step}": weight for step, weight in zip(_steps_of(own), own.window, strict=True)}
