"""The classifier of sequences that scikit-learn's users see."""

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction import DictVectorizer
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from logikern.estimators._callbacks import FinalFit, log
from logikern.kernels.inputs import is_sparse
from logikern.model.fitted import FittedModel
from logikern.numerics.outcome import Array, Indices, Outcome
from logikern.numerics.parallel import own_threads
from logikern.operators.choose import PointSet, choose
from logikern.sequences.chains import Chains
from logikern.sequences.criterion import HeldOutChains
from logikern.sequences.hyperparameters import FieldSpecification, SequenceRecord, search
from logikern.sequences.inputs import SequenceRows, has_dicts, read_labels, read_sequences
from logikern.sequences.likelihood import ChainLikelihood, count_transitions
from logikern.sequences.model import SequenceModel
from logikern.sequences.newton import ChainFit, fit_chains
from logikern.sequences.settings import check_settings, choose_sequences, divide, first_specification


class KernelSequenceClassifier(BaseEstimator):
    """Kernel conditional random field: the labels of a sequence depend on its inputs and on their neighbours.

    The log score of labels y_1 .. y_T is sum_t u_{y_t}(x_t) + start_{y_1} + sum_t transition_{y_t y_{t+1}} +
    end_{y_T}. The functions u_c have a kernel each, or share one (Gaussian processes); all other scores have a
    Gaussian prior. The penalised loss is convex. Newton's method minimises it, from products with the kernel matrix
    and with the curvature of the chains (Memisevic 2006, sec. 4.2; Seeger 2008, sec. 7.4).

    Hyperparameters minimise the log loss of held-out sequences, with its exact gradient.

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        "auto" is a Gaussian for arrays, and a linear kernel for sparse matrices and feature dicts. Other names and
        objects as for `KernelLogisticClassifier`, without "precomputed".
    inputs : {"raw", "standard"}, default="raw"
        Whether inputs are standardised; sparse inputs are divided by their spread only.
    tying : {"shared", "scaled", "separate"}, default="shared"
        One kernel and variance for all labels; one kernel, a variance per label; or a kernel and a variance per
        label.
    rate : float, sequence of float or None, default=None
        Inverse squared length scale of the inputs, one for all or one per input. None estimates it from the data.
        The search starts there.
    variance : float or None, default=None
        Variance of the functions. None estimates it from the size of the kernel. The search starts there.
    bias_variance : float, default=16.0
        Prior variance of each label's constant. It is not learned.
    transition_variance : float or None, default=None
        Prior variance of the scores of pairs of labels, first labels and last labels. The search starts there, and
        at 4 for None. 0 fixes these scores at their prior mean.
    pseudocount : float or None, default=None
        The prior mean of those scores is log(P(j | i) / P(j)), where the frequencies P(j | i) in the training labels
        are shrunk towards P(j) by this many pseudo-observations. The search starts there, and at 1 for None.
        Infinity is a mean of zero.
    piecewise : float or None, default=None
        Weight of the log loss of each position without its neighbours, in addition to the log loss of sequences. If
        neighbours nearly determine the training labels, the functions learn little without it. The search starts
        there, and at 1 for None. 0 is the maximum likelihood of the conditional random field.
    criterion : {"cv", None}, default="cv"
        "cv" learns all hyperparameters above, except those that are 0 or infinite and the bias variance. None keeps
        all at their first values.
    cv : int or iterable of splits, default=3
        Number of folds; whole sequences are held out. Or splits (kept, held out) of the numbers of sequences, such
        as those of `GroupKFold`, of which the second part counts: if new sequences will be unlike those of training,
        hold out like sequences together.
    search_size : int, default=2000
        Maximum number of rows of the sequences in the search, which are drawn at random. The final fit uses all
        sequences, at the hyperparameters of the search.
    decoding : {"sequence", "positions"}, default="sequence"
        What `predict` returns: the most probable sequence of labels, or the most probable label at each position,
        which has fewer wrong labels on average.
    precision : {"auto", "single", "double"}, default="auto"
        Precision of kernel products. "auto" is single from 2000 rows on; the gradient at the end is in double.
    tol : float, default=1e-4
        Tolerance for the largest component of the gradient, in units of probability.
    max_iter : int, default=100
        Maximum number of Newton steps.
    n_jobs : int or None, default=None
        Maximum number of threads. None and -1 mean the number that the BLAS may use.
    random_state : int, RandomState instance or None, default=None
        Seed of the sequences of the search and of its folds.
    verbose : int, default=0
        1 shows each evaluation of the search and the final fit, 2 also its Newton steps.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    transition_ : array of shape (n_classes, n_classes)
        Score of label j (column) after label i (row).
    start_, end_ : arrays of shape (n_classes,)
        Scores of first and of last labels.
    specification_ : FieldSpecification
        Hyperparameters of the fit.
    trace_ : tuple of SequenceRecord
        Evaluations of the search.
    n_features_in_ : int
    n_iter_ : int
        Newton steps of the final fit.
    n_products_ : int
        Products with the kernel matrix in the final fit.
    outcome_ : Outcome
        How the final fit ended.
    vectorizer_ : DictVectorizer or None
        The features of dicts.

    See Also
    --------
    KernelLogisticClassifier : The same model for rows that do not depend on each other.

    Examples
    --------
    >>> import numpy as np
    >>> from logikern import KernelSequenceClassifier
    >>> X = [np.array([[0.0], [1.0], [0.1]]), np.array([[1.1], [0.0]]), np.array([[0.0], [0.9]])]
    >>> y = [["low", "high", "low"], ["high", "low"], ["low", "high"]]
    >>> model = KernelSequenceClassifier(criterion=None).fit(X, y)
    >>> [labels.tolist() for labels in model.predict([[[0.0], [1.0]]])]
    [['low', 'high']]
    """

    def __init__(
        self,
        kernel="auto",
        *,
        inputs="raw",
        tying="shared",
        rate=None,
        variance=None,
        bias_variance=16.0,
        transition_variance=None,
        pseudocount=None,
        piecewise=None,
        criterion="cv",
        cv=3,
        search_size=2000,
        decoding="sequence",
        precision="auto",
        tol=1e-4,
        max_iter=100,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.inputs = inputs
        self.tying = tying
        self.rate = rate
        self.variance = variance
        self.bias_variance = bias_variance
        self.transition_variance = transition_variance
        self.pseudocount = pseudocount
        self.piecewise = piecewise
        self.criterion = criterion
        self.cv = cv
        self.search_size = search_size
        self.decoding = decoding
        self.precision = precision
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Learn hyperparameters and fit all sequences.

        Parameters
        ----------
        X : list of arrays or sparse matrices of shape (length, n_features), list of lists of dicts, or table
            The sequences. Dicts map features to numbers or strings. A table needs `groups`.
        y : list of sequences of labels, or array of shape (n_rows,) for a table
        groups : array of shape (n_rows,) or None, default=None
            The sequence of each row of a table; its rows are in order, but need not be adjacent.

        Returns
        -------
        self : KernelSequenceClassifier
        """
        check_settings(self.get_params(deep=False))
        self.vectorizer_ = DictVectorizer().fit([one for each in X for one in each]) if has_dicts(X) else None
        sequences = read_sequences(X, groups, self.vectorizer_)
        self.classes_, labels = np.unique(read_labels(y, sequences), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"`y` must have at least two different labels, but all are {self.classes_[0]!r}.")
        if self.criterion is not None and sequences.n_sequences < 2:
            raise ValueError(
                "The search holds out whole sequences, but there is only one. Pass criterion=None with values of "
                "your own, or cut the sequence into parts."
            )
        self.n_features_in_ = sequences.rows.shape[1]
        scaler = StandardScaler(with_mean=not is_sparse(sequences.rows))
        self._scaler = scaler.fit(sequences.rows) if self.inputs == "standard" else None
        with own_threads(None if self.n_jobs == -1 else self.n_jobs):
            self._fit(self._scaled(sequences), labels.astype(np.intp))
        return self

    def _fit(self, sequences: SequenceRows, labels: Indices) -> None:
        start = first_specification(self.get_params(deep=False), sequences.rows, len(self.classes_))
        self.trace_: tuple[SequenceRecord, ...] = ()
        self.specification_ = start if self.criterion is None else self._search(start, sequences, labels)
        fit, transitions = self._fit_all(sequences, labels)
        _warn(fit, self.tol)
        n = len(labels)
        self._model = SequenceModel(
            FittedModel(self.specification_.positions, sequences.rows, fit.dual[:, :n]),
            transitions + fit.latent[:, n:],
        )
        found = self._model.transitions
        self.transition_, self.start_, self.end_ = found[:, :-2], found[:, -2], found[:, -1]
        self.n_iter_, self.n_products_, self.outcome_ = len(fit.trace) - 1, fit.n_products, fit.outcome

    def _search(self, start: FieldSpecification, sequences: SequenceRows, labels: Indices) -> FieldSpecification:
        """The best hyperparameters for some sequences."""
        random = check_random_state(self.random_state)
        chosen = choose_sequences(sequences, self.search_size, random)
        own = sequences.take(chosen)
        own_labels = np.concatenate([labels[sequences.offsets[s] : sequences.offsets[s + 1]] for s in chosen])
        chains = Chains(own.offsets, len(self.classes_))
        folds = divide(self.cv, chosen, sequences.n_sequences)
        criterion = HeldOutChains(chains, own_labels, folds, max_steps=self.max_iter)
        found = search(criterion, start, self._points(start, own.rows), partial(_log_evaluation, self.verbose))
        self.trace_ = found.records
        if not np.isfinite(found.records[0].value):
            warnings.warn(
                "The search failed at its starting hyperparameters, which are therefore used unchanged. Pass a "
                "smaller `variance`, or scale the inputs.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return found.specification

    def _fit_all(self, sequences: SequenceRows, labels: Indices) -> tuple[ChainFit, Array]:
        """The final fit, and the prior mean of transitions."""
        own, chains = self.specification_, Chains(sequences.offsets, len(self.classes_))
        weights = np.ones(chains.n_chains)
        mean = count_transitions(chains, labels, weights, own.pseudocount).value
        likelihood = ChainLikelihood(chains, labels, weights, mean, own.piecewise)
        covariance = own.bind(self._points(own, sequences.rows))
        told = FinalFit(self.verbose)
        fit = fit_chains(likelihood, covariance, self.tol, self.max_iter, callback=told.log_step)
        told.log_end()
        return fit, mean

    def _points(self, specification: FieldSpecification, rows: Any) -> PointSet:
        kernels = specification.positions.kernels
        return choose(kernels, rows, precision=self.precision).points(rows, keep_distances=True)

    def _scaled(self, sequences: SequenceRows) -> SequenceRows:
        if self._scaler is None:
            return sequences
        return SequenceRows(self._scaler.transform(sequences.rows), sequences.offsets, sequences.order)

    def _read(self, X: Any, groups: Any) -> SequenceRows:
        """New sequences, checked against the fit."""
        check_is_fitted(self, "transition_")
        sequences = read_sequences(X, groups, self.vectorizer_)
        if sequences.rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"`X` has {sequences.rows.shape[1]} inputs, but the model was fitted to {self.n_features_in_} inputs."
            )
        return self._scaled(sequences)

    def predict(self, X: Any, groups: Any = None) -> Any:
        """Labels of sequences, as `decoding` says.

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
        labels = read_labels(y, own)
        unknown = sorted(set(labels.tolist()) - set(self.classes_.tolist()), key=str)
        if unknown:
            raise ValueError(f"`y` has labels that the model does not know: {unknown!r}.")
        return self._model.log_likelihoods(own.rows, own.offsets, np.searchsorted(self.classes_, labels))

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """Share of positions with the right label.

        Parameters
        ----------
        X : list of sequences, or table with groups
        y : list of sequences of labels, or array of shape (n_rows,) for a table
        groups : array of shape (n_rows,) or None, default=None
        """
        own = self._read(X, groups)
        return float(np.mean(self._decode(own) == read_labels(y, own)))


def _log_evaluation(verbose: int, record: SequenceRecord) -> None:
    values = np.exp(record.specification.log_parameters)[record.specification.is_learned]
    told = (record.number, record.value, record.best, " ".join(f"{value:.3g}" for value in values))
    log(verbose >= 1, "evaluation %d: held-out log loss %.4f, best %.4f, at %s", *told)


def _warn(fit: ChainFit, tolerance: float) -> None:
    """One warning for a fit that has not converged; an error for one without finite values."""
    if fit.outcome is Outcome.NOT_FINITE:
        raise ValueError(f"{fit.outcome.value} Check the size of the inputs and of the variances.")
    if not fit.outcome.converged:
        warnings.warn(
            f"{fit.outcome.value} Its norm is {fit.gradient_norm:.1e}, and {tolerance:.1e} was asked for. Raise "
            "`max_iter`, or pass a smaller `variance` or precision='double'.",
            ConvergenceWarning,
            stacklevel=4,
        )
