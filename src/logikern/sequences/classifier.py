"""The classifier of sequences that scikit-learn's users see."""

import time
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction import DictVectorizer
from sklearn.utils import check_random_state

from logikern.encoding.roles import list_chosen
from logikern.estimators._callbacks import (
    WRAPPER_FRAMES,
    CallbackSupportMixin,
    Listeners,
    SearchLength,
    listen,
    with_callbacks,
)
from logikern.estimators._checkpoint import open_journal
from logikern.estimators._failures import warn_search
from logikern.estimators._inputs.data import check_magnitude
from logikern.estimators._inputs.labels import read_labels as number_labels
from logikern.estimators._inputs.tables import learn_inputs, warn_of_columns
from logikern.estimators._results import forget_fit
from logikern.numerics.outcome import Array, Indices, Outcome
from logikern.numerics.parallel import own_threads
from logikern.operators.choose import choose
from logikern.selection.search import INTERRUPTED, SearchLog
from logikern.sequences.answers import SequenceAnswers
from logikern.sequences.chains import Chains
from logikern.sequences.criterion import HeldOutChains
from logikern.sequences.final import FitSettings, fit_all
from logikern.sequences.hyperparameters import POLICY, FieldSpecification, identify, minimise
from logikern.sequences.inputs import GivenSequences, SequenceRows, read_labels, read_sequences, read_weights
from logikern.sequences.newton import ChainFit
from logikern.sequences.settings import check_enough, check_settings, choose_sequences, divide, first_specification


class KernelSequenceClassifier(SequenceAnswers, CallbackSupportMixin, BaseEstimator):
    """Kernel conditional random field: each label depends on its inputs and on the labels next to it.

    The log score of labels y_1 .. y_T is sum_t u_{y_t}(x_t) + start_{y_1} + sum_t transition_{y_t y_{t+1}} +
    end_{y_T}. The functions u_c are Gaussian processes, which have one kernel each or share one; all other scores
    have a Gaussian prior. The penalised loss is convex. Newton's method minimises it, using products with the kernel
    matrix and with the curvature of the chains (Memisevic 2006, sec. 4.2; Seeger 2008, sec. 7.4).

    The search minimises the log loss of held-out sequences, using its exact gradient.

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        "auto" is a Gaussian for arrays, and a linear kernel for sparse matrices and feature dicts. Other names and
        objects are as for `KernelLogisticClassifier`, except "precomputed".
    categorical_features : "from_dtype", None, list of names or positions, or mask, default="from_dtype"
        Columns of X to treat as categories. "from_dtype" decides by type: a column of text or categories becomes one
        input per level, and a column of numbers or booleans becomes one input. None allows only numbers.
    inputs : {"auto", "raw", "standard", "ranks"}, default="auto"
        How to scale numbers: "raw" leaves them unscaled, "standard" standardises them, and "ranks" replaces them by
        their ranks in the training rows. Sparse inputs are only divided by their spread, and cannot be replaced by
        ranks. "auto" standardises tables that contain categories, booleans or dates as well as numbers, and leaves
        other tables unscaled.
    tying : {"shared", "scaled", "separate"}, default="shared"
        Which labels share kernels and variances. "shared": one kernel and one variance for all labels; "scaled": one
        kernel for all labels and one variance per label; "separate": one kernel and one variance per label.
    rate : float, sequence of float or None, default=None
        Inverse squared length scale of the inputs: one number for all inputs, or one per input. None estimates it
        from the spread of the data. A search starts from this value.
    variance : float or None, default=None
        Variance of the functions. None estimates it from the size of the kernel values. A search starts from this
        value.
    bias_variance : float, default=16.0
        Prior variance of the constant term of each label. It is not learned.
    transition_variance : float or None, default=None
        Prior variance of the scores of transitions, first labels and last labels. A search starts from this value, or
        from 4 if it is None. 0 fixes these scores at their prior mean.
    pseudocount : float or None, default=None
        The prior mean of a transition score is log(P(j | i) / P(j)), where the frequencies P(j | i) in the training
        labels are shrunk towards P(j) by this number of pseudo-observations; the prior means of first and last labels
        are analogous. A search starts from this value, or from 1 if it is None. Infinity means a prior mean of zero.
    piecewise : float or None, default=None
        Weight of the log loss of single positions, without their neighbours, which is added to the log loss of
        sequences. Without it, the functions learn little if neighbours nearly determine the training labels. A search
        starts from this value, or from 1 if it is None. With 0, only the likelihood of the conditional random field
        counts.
    window : int or sequence of float, default=0
        Number r of neighbours on each side whose inputs count at a position. Each neighbour adds a kernel with its
        own weight: k(x_s, x_t) + sum_d w_d k(x_{s+d}, x_{t+d}). A sequence gives the weights of the offsets -r to -1
        and 1 to r. A search starts from these weights, or from 0.3 if only r is given. A weight of 0 is not learned.
    criterion : {"cv", None}, default="cv"
        "cv" learns all of the hyperparameters above, except the bias variance and those that are 0 or infinite. None
        keeps all hyperparameters at their starting values.
    cv : int or iterable of splits, default=3
        Number of folds, which hold out whole sequences; or splits such as those of `GroupKFold`: pairs of arrays,
        with the positions of the kept sequences and of the held-out sequences. Only the second array is used. If new
        sequences will differ from the training sequences, hold out similar sequences together.
    search_size : int, default=2000
        Maximum number of rows in the search, which uses sequences drawn at random. The final fit uses all sequences,
        at the learned hyperparameters.
    max_time : float or None, default=None
        Time limit of the search in seconds. After this time, the best hyperparameters so far are used.
    checkpoint : path or None, default=None
        File to which the search is written after every evaluation, so that a killed fit can resume from it; or a
        folder, in which each search has its own file. A resumed fit ends with the same model. A file can be used only
        with the same data and settings.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does. "raise" raises KeyboardInterrupt; a checkpoint keeps all evaluations so far. "keep" ends the
        search with a warning and uses the best hyperparameters so far; in the final fit after a search, it keeps the
        current fit. A second Ctrl-C during the same fit always raises.
    decoding : {"sequence", "positions"}, default="sequence"
        What `predict` returns. "sequence": the most probable sequence of labels; "positions": the most probable label
        at each position, which gives fewer wrong labels on average.
    precision : {"auto", "single", "double"}, default="auto"
        Precision of kernel products. "auto" uses single precision for 2000 or more rows; the gradient at the end is
        always computed in double precision.
    tol : float, default=1e-4
        Tolerance for the largest component of the gradient, in units of probability.
    max_iter : int, default=100
        Maximum number of Newton steps.
    n_jobs : int or None, default=None
        Maximum number of threads. None, -1 and numbers that are too large mean as many threads as the BLAS may use.
        The environment variable `OPENBLAS_NUM_THREADS` or `threadpool_limits` can set this number.
    random_state : int, RandomState instance or None, default=None
        Seed of all random choices: the sequences and folds of the search.
    verbose : int, default=0
        1 prints a line for each evaluation of the search and for the final fit; 2 also prints each Newton step. The
        lines go to the logger "logikern", and to standard output unless you have set up a handler that shows them.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    transition_ : array of shape (n_classes, n_classes)
        Score of label j (column) after label i (row).
    start_, end_ : arrays of shape (n_classes,)
        Scores of first labels and of last labels.
    specification_, first_specification_ : FieldSpecification
        Hyperparameters of the fit, and hyperparameters with which the search began.
    hyperparameters_ : frame
        Name, labels, value and starting value of each hyperparameter.
    criterion_value_ : float
        Log loss per position of held-out sequences at the learned hyperparameters; NaN without a search.
    trace_ : tuple of Record
        Evaluations of the search.
    newton_trace_ : tuple of NewtonStep
        Steps of the final fit.
    stopped_early_ : str
        Why the search ended early (`max_time` or Ctrl-C); empty if it did not.
    interrupted_ : bool
        Whether Ctrl-C ended the search or the final fit early.
    encoder_ : Encoder
        How columns become inputs.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the columns, if sequences are frames.
    n_training_rows_ : int
        Number of positions in the training sequences.
    n_iter_ : int
        Number of Newton steps of the final fit.
    n_products_ : int
        Number of products with the kernel matrix in the final fit.
    outcome_ : Outcome
        How the final fit ended.
    vectorizer_ : DictVectorizer or None
        Turns feature dicts into inputs; None if sequences are not lists of dicts.

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
        categorical_features="from_dtype",
        inputs="auto",
        tying="shared",
        rate=None,
        variance=None,
        bias_variance=16.0,
        transition_variance=None,
        pseudocount=None,
        piecewise=None,
        window=0,
        criterion="cv",
        cv=3,
        search_size=2000,
        max_time=None,
        checkpoint=None,
        on_interrupt="raise",
        decoding="sequence",
        precision="auto",
        tol=1e-4,
        max_iter=100,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.categorical_features = categorical_features
        self.inputs = inputs
        self.tying = tying
        self.rate = rate
        self.variance = variance
        self.bias_variance = bias_variance
        self.transition_variance = transition_variance
        self.pseudocount = pseudocount
        self.piecewise = piecewise
        self.window = window
        self.criterion = criterion
        self.cv = cv
        self.search_size = search_size
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.on_interrupt = on_interrupt
        self.decoding = decoding
        self.precision = precision
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Learn hyperparameters and fit all sequences.

        Parameters
        ----------
        X : list of arrays, sparse matrices or frames of shape (length, n_features), list of lists of dicts, or table
            The sequences. Dicts map features to numbers or strings. A table is an array, a sparse matrix or a frame
            with one row for each position, and needs `groups`. Frames may have columns of text, categories, booleans
            and dates. Missing values are imputed, as in `KernelLogisticClassifier`.
        y : list of sequences of labels, or array of shape (n_rows,) for a table
        groups : array of shape (n_rows,) or None, default=None
            For a table, the sequence to which each row belongs. The rows of a sequence are in order, but need not be
            adjacent.
        sample_weight : array of shape (n_sequences,), or (n_rows,) for a table, or None, default=None
            Weight of each sequence in the log likelihood; all rows of a sequence must have the same weight. A weight
            of two counts as two equal sequences, and a sequence of weight zero is ignored.

        Returns
        -------
        self : KernelSequenceClassifier
        """
        check_settings(self.get_params(deep=False))
        forget_fit(self)
        given = read_sequences(X, groups)
        sequences = self._learn_inputs(given)
        self.classes_, numbers = number_labels(read_labels(y, sequences))
        weights = read_weights(sample_weight, sequences)
        check_enough(self.classes_[np.unique(numbers[sequences.spread(weights) > 0])], weights, self.criterion)
        length = SearchLength(0 if self.criterion is None else 1, POLICY.evaluations)
        threads = own_threads(None if self.n_jobs == -1 else self.n_jobs)
        with threads, listen(self, length, X, y, sample_weight) as listeners:
            self._fit(sequences, numbers.astype(np.intp), weights, listeners)
        return self

    def _learn_inputs(self, given: GivenSequences) -> SequenceRows:
        """Learn how rows become inputs, and encode them."""
        self.vectorizer_ = DictVectorizer().fit(given.rows) if given.has_dicts else None
        table = self._table(given, bool(list_chosen(self.categorical_features)), reset=True)
        names = vars(self).get("feature_names_in_")
        self.encoder_, inputs = learn_inputs(table, self.categorical_features, self.inputs, names)
        check_magnitude(inputs)
        warn_of_columns(self.encoder_, wrapper_frames=1 + WRAPPER_FRAMES)
        return given.encoded(inputs)

    def _fit(self, sequences: SequenceRows, labels: Indices, weights: Array, listeners: Listeners) -> None:
        each = sequences.spread(weights)
        start = first_specification(self.get_params(deep=False), sequences.rows, each, len(self.classes_))
        self.first_specification_ = self.specification_ = start
        self.criterion_value_, self.stopped_early_ = np.nan, ""
        if self.criterion is not None:
            self._search(start, sequences, labels, weights, listeners)
        if self.stopped_early_:
            used = "best hyperparameters so far" if self.criterion_value_ < np.inf else "first hyperparameters"
            warn_search(f"{self.stopped_early_}; the {used} are used")
        # The first interruption after a search keeps the current fit, so that the search is not lost.
        is_kept = self.on_interrupt == "keep" and self.criterion_value_ < np.inf and not self.stopped_early_
        settings = FitSettings(self.precision, self.tol, self.max_iter, is_kept)
        fit, self._model = fit_all(self.specification_, sequences, labels, weights, settings, listeners.newton_step)
        _warn(fit, self.tol)
        found = self._model.transitions
        self.transition_, self.start_, self.end_ = found[:, :-2], found[:, -2], found[:, -1]
        self.n_iter_, self.n_products_, self.newton_trace_ = len(fit.trace) - 1, fit.n_products, fit.trace
        self.outcome_ = fit.outcome
        self.interrupted_ = self.stopped_early_ == INTERRUPTED or fit.outcome is Outcome.INTERRUPTED

    def _search(
        self,
        start: FieldSpecification,
        sequences: SequenceRows,
        labels: Indices,
        weights: Array,
        listeners: Listeners,
    ) -> None:
        """Learn the best hyperparameters for some sequences."""
        deadline = np.inf if self.max_time is None else time.monotonic() + self.max_time
        chosen = choose_sequences(sequences, weights, self.search_size, check_random_state(self.random_state))
        own = sequences.take(chosen)
        chains, own_labels = Chains(own.offsets, len(self.classes_)), labels[sequences.rows_of(chosen)]
        folds = divide(self.cv, chosen, sequences.n_sequences)
        criterion = HeldOutChains(chains, own_labels, folds, max_steps=self.max_iter, weights=weights[chosen])
        points = choose(start.positions.kernels, own.rows, precision=self.precision).points(own.rows, True)
        identity = identify(self.get_params(deep=False), sequences, labels, weights)
        with open_journal(self.checkpoint, identity, 0, [(chains.n_positions, (chosen, folds))]) as journal:
            log = SearchLog(journal, listeners.evaluation, deadline, keep_interrupted=self.on_interrupt == "keep")
            self.specification_ = minimise(criterion, start, points, log)
        value = log.best_value(chains.n_positions)
        self.criterion_value_, self.stopped_early_ = value if np.isfinite(value) else np.nan, log.stopped
        if log.records and not log.records[0].usable:
            warnings.warn(
                "The search failed at its starting hyperparameters, which are therefore used unchanged. Pass a "
                "smaller `variance`, or scale the inputs.",
                ConvergenceWarning,
                stacklevel=4 + WRAPPER_FRAMES,
            )


def _warn(fit: ChainFit, tolerance: float) -> None:
    """One warning for a fit that has not converged; an error for one without finite values."""
    if fit.outcome is Outcome.NOT_FINITE:
        raise ValueError(f"{fit.outcome.value} Check that inputs and variances are not extremely large.")
    if not fit.outcome.converged:
        advice = "Raise `max_iter`, or pass a smaller `variance` or precision='double'."
        if fit.outcome is Outcome.INTERRUPTED:
            advice = "Fit again for better probabilities."
        warnings.warn(
            f"{fit.outcome.value} The gradient norm is {fit.gradient_norm:.1e} (tolerance {tolerance:.0e}). {advice}",
            ConvergenceWarning,
            stacklevel=4 + WRAPPER_FRAMES,
        )
