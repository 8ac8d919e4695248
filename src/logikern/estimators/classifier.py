"""The classifier that scikit-learn's users see."""

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from logikern.estimators import _failures
from logikern.estimators._baselines.one_vs_rest import fit_against_rest
from logikern.estimators._callbacks import CallbackSupportMixin, listen, with_callbacks
from logikern.estimators._cells.fit import fit_here
from logikern.estimators._fitted.decisions import DecisionMixin
from logikern.estimators._fitted.frames import hyperparameter_frame, labelled_frame, stacked_frames
from logikern.estimators._fitted.influence import InfluenceMixin
from logikern.estimators._fitted.prediction import latents
from logikern.estimators._fitted.story import SearchStory, explain_each
from logikern.estimators._inputs.alternatives import list_alternatives
from logikern.estimators._inputs.data import check_groups, check_together, training_data
from logikern.estimators._inputs.splits import GivenRows
from logikern.estimators._inputs.tables import warn_of_columns
from logikern.estimators._memory import find_resources
from logikern.estimators._parameters import check_classification, read_parameters
from logikern.estimators._plan import resolve
from logikern.estimators._results import class_results, fit_results, forget_fit, search_results, write
from logikern.estimators._run import run, stored_points, threads
from logikern.estimators._streaming import StreamingMixin
from logikern.estimators._trees.run import run_with_tree
from logikern.numerics.outcome import Array
from logikern.numerics.simplex import log_probabilities


class KernelLogisticClassifier(
    DecisionMixin, InfluenceMixin, StreamingMixin, SearchStory, CallbackSupportMixin, ClassifierMixin, BaseEstimator
):
    """Joint softmax kernel classifier, fitted by Newton's method from kernel products.

    All classes are fitted together: P(class c | x) is the softmax of latent
    functions u_c with kernel variance_c * k_c, at the minimum of the penalised
    log likelihood (Seeger 2008).

    Parameters
    ----------
    kernel : str, Kernel or callable, default="auto"
        "auto" compares a Gaussian, a Laplacian and a mean of both by the criterion; it uses a linear kernel for
        sparse inputs such as word counts, and a Gaussian if hyperparameters are fixed. Other values: "gaussian",
        "laplacian", "gaussian_laplacian", "matern12", "matern32", "matern52", "rational_quadratic", "linear",
        "polynomial"; "precomputed", if X holds kernel values; a Kernel object; or a function of two points, which
        may be any objects (strings, graphs).
    categorical_features : "from_dtype", None, list of names or positions, or mask, default="from_dtype"
        Columns of X to treat as categories. "from_dtype" decides by type: text and categories have one input per
        level, numbers and booleans one input. None allows numbers only.
    inputs : {"auto", "raw", "standard", "ranks"}, default="auto"
        Scale of numbers: unscaled, standardised, or ranks in the training rows. Levels of categories keep 0 and 1.
        "auto" compares these by the criterion; "raw" only if many columns share a unit, as pixels do. If
        hyperparameters are fixed or a rate is given, "auto" standardises tables that have categories, booleans or
        dates besides numbers, and leaves others unscaled.
    hierarchy : Tree, mapping, nested dict, paths, pairs, graph, "paths", "learn", Mixing or None, default=None
        A tree whose leaves are the classes, in any form that `read_tree` accepts; "paths" reads it from labels such
        as "physics/optics/lasers". Classes are then similar to the extent that their paths overlap, labels may name
        inner nodes, and classes without data get probabilities. Any other Mixing defines how classes share functions.
        "learn" groups classes that are confused, and keeps the tree if it gains more than noise.
    label_kernel : array of shape (n_classes, n_classes), frame, callable or None, default=None
        How similar classes are a priori: a positive semidefinite matrix in the order of `classes_`, a frame with
        labels, or a function of two labels. The covariance of two classes is the kernel of the inputs times this
        value. With tying="auto", the search also learns how much classes have in common. If the matrix is
        singular, the identity is added to it.
    coupling : "auto", int or None, default=None
        Whether the search learns which classes are similar: loadings B of this number of factors, for a covariance of
        kernel times (I + B B'). "auto" keeps factors only if they gain more than noise.
    tying : str, list or dict, default="auto"
        "shared": one kernel and one variance for all classes; "scaled": one kernel, a variance per class; "separate":
        a kernel and a variance per class. A list has one group label per class; each group has a kernel and a
        variance. "auto" grows from shared to separate as long as that is better. With a hierarchy, "level" has a
        variance per level and is the coarsest that "auto" allows; "subtree" has one variance for the inner nodes and
        one for the leaves of each subtree below the root; "separate" has a kernel and a variance per level; "leaf"
        has a variance per leaf, and "leaves" also a kernel. A dict maps nodes, with all nodes below them, to groups.
    rate : float, sequence of float or None, default=None
        Inverse squared length scale of the inputs, or inverse length scale for "laplacian"; one for all, or one per
        column of X. None estimates it from the spread of the data. With a criterion, the search starts there.
    variance : float, sequence of float or None, default=None
        Variance of the latent functions, or one per variance of `tying`. None estimates it from the size of the
        kernel. With a criterion, the search starts there.
    bias_variance : float, default=16.0
        Prior variance of the bias of each class. 0 omits biases; infinity leaves them unpenalised (with dense
        factors only, and not with criterion="cv").
    criterion : {"cv", "loo", "auto"}, callable or None, default="cv"
        What the search minimises, with its exact gradient. "cv" is the cross-validated log loss, "loo" the
        leave-one-out log loss in closed form after a single fit, "auto" the cheaper of the two. A function makes
        another `Criterion` from a `CriterionData`. None keeps hyperparameters fixed.
    cv : int, splitter or iterable of splits, default=5
        Folds of the criterion. A number of folds is stratified and respects the groups of `fit`. A splitter gets X, y
        and groups as passed to `fit` (the number of the most likely class if y has distributions or paths). Its
        splits, or given splits, refer to all these rows and are restricted to the rows of the search (see
        `search_size`). Splits that then hold out or keep no row are skipped.
    ard : {"auto"} or bool, default="auto"
        Whether each input has its own rate (automatic relevance determination). "auto" tries it if `tying` is
        "auto" and there are not too many inputs.
    learn_bias : bool, default=False
        Whether `bias_variance` is learned too.
    sharpen : {"auto"} or bool, default="auto"
        Whether the search also learns an entropy-dependent temperature; the most probable class stays the same.
        "auto" does so for a linear kernel on inputs that are at least four fifths zero, such as word counts. For text
        it lowers the log loss; on tables it may lower or raise it.
    one_vs_rest : bool, default=False
        Fit a binary model per class against the rest instead of all classes together: a baseline. `binaries_` has
        these models.
    search_size : int, "auto" or None, default="auto"
        Maximum number of rows in the search. None uses all rows. "auto" is 2000, or less if an evaluation would be
        slow: for leave-one-out 1440 with two classes and 490 with ten. With more than 100 classes it is up to 20 rows
        per class. With 4000 rows or more, "auto" finishes the search of a distance-based kernel on up to eight
        neighbourhoods of at most 1000 rows. The final fit uses all rows. Rates, and variances for text with many
        classes, are extrapolated, unless the search uses neighbourhoods.
    optimizer : {"quasi-newton", "nelder-mead"}, default="quasi-newton"
        How the criterion is minimised. "nelder-mead" uses values only and needs many more evaluations.
    n_starts : int, default=1
        Number of starts of the search: the first at estimates from the data, others at random around them.
    max_time : float or None, default=None
        Seconds for the search, after which the best hyperparameters so far are used.
    checkpoint : path or None, default=None
        File to which the search is written after every evaluation. A killed fit resumes from it. It is valid for one
        fit at a time, and only for the same data and settings, including the code of functions. In a folder every
        search has its own file: pass a folder for `cross_val_score` or `GridSearchCV`, whose fits differ. A new name
        without a suffix is a folder, which is created with its parents if necessary.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does. "raise" raises KeyboardInterrupt; a checkpoint keeps all evaluations so far. "keep" ends
        the search with a warning and uses the best hyperparameters so far; in the final fit after a search it keeps
        the current fit, or the partitions into neighbourhoods that are complete. A second Ctrl-C in the same fit
        always raises.
    solver : {"auto", "newton", "exact", "kcg", "smo"} or Solver, default="auto"
        Solver of the final fit. "newton" needs kernel products only; "exact" factors matrices in O(n_classes * n^3);
        "kcg" is conjugate gradients in function space, with one kernel product per step; "smo" is ascent over pairs
        of classes, from rows of a kernel matrix that it never stores; "auto" chooses by size. Any other Solver has
        its own tolerance and budget.
    operator : str, NeighbourhoodSettings or callable, default="auto"
        "dense" stores the kernel matrix, "tiled" recomputes it, "features" replaces it by explicit features, "sparse"
        by sums over pairs of near rows, "fourier" by Fourier modes, "fast" by the faster of these two;
        "neighbourhoods" or NeighbourhoodSettings fit parts of the rows, as "auto" does above 12,000 rows. A function
        (kernel, X, dtype, bytes) makes another operator.
    precision : {"auto", "single", "double"}, default="auto"
        Precision of kernel products; the exact solver always uses double. "auto" is single for large data, with
        latents recomputed in double before the fit counts as converged.
    state_precision : {"auto", "single", "double"}, default="auto"
        Precision of coefficients and latents. "auto" is single if double would fill half of the memory. With
        `bias_variance=inf` it is always double.
    tol : float, default=1e-4
        Tolerance for the largest component of the gradient, in units of probability.
    max_iter : int, default=60
        Maximum number of Newton steps, and of rounds of block coordinate ascent for text before them. "kcg" may take
        a hundred times this number of steps, and "smo" twenty times.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes' likelihoods.
    memory_limit : int, str or None, default=None
        Memory that `fit`, a prediction or leave-one-out may use besides its data, in bytes or as text ("2GB"). None
        uses the free memory, within the limits of control groups. Kernel matrices that do not fit are recomputed in
        tiles; if that is not enough, the call raises an error before its work begins.
    n_jobs : int or None, default=None
        Maximum number of threads. None, -1 and larger numbers mean the number that the BLAS may use, which
        `OPENBLAS_NUM_THREADS` or `threadpool_limits` can set.
    random_state : int, RandomState instance or None, default=None
        Seed of all random choices: the rows of the search, its folds, pivots of the preconditioner, the order of
        coordinate ascent, and landmarks of leave-one-out.
    verbose : int, default=0
        1 shows a line for every evaluation of the search and for the final fit, 2 also every Newton step. Lines go to
        the logger "logikern", and to standard output unless a handler of your own shows them.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    dual_coef_ : array of shape (n_samples, n_classes)
        The expansion coefficients; zero for rows of weight zero. With neighbourhoods, the mean over partitions.
    kernels_ : tuple of Kernel
        One per kernel group.
    variances_ : array of shape (n_classes,)
        With a hierarchy, one for each node with siblings (`node_variances_` has one entry per node).
    loadings_ : array of shape (n_classes, n_factors)
        The loadings of learned factors, if classes are coupled.
    tree_ : Tree or None
        The hierarchy, if there is one; None if a learned one was not better.
    n_iter_ : int
        Newton steps taken.
    trace_ : tuple of Record or NewtonStep
        The evaluations of the search; without a search, the steps of the fit.
    newton_trace_ : tuple of NewtonStep
        Steps of the final fit.
    criterion_value_ : float
        Criterion at the learned hyperparameters: mean held-out loss per case, plus a penalty on the temperature.
    hyperparameters_ : frame
        Name, class or group, value and start of every hyperparameter.
    outcome_ : Outcome
        How the fit ended; its value is a sentence.
    stopped_early_ : str
        Why the search ended early (`max_time` or Ctrl-C); empty if it did not.
    interrupted_ : bool
        Whether Ctrl-C ended the search or the final fit early (see `on_interrupt`).
    plan_ : FitPlan
        Everything that was decided before the fit; `print` shows it. A model file keeps its text.
    operator_ : str
        How products were computed, and why, as a sentence.
    approximation_ : Approximation or None
        Held-out loss of neighbourhoods, compared with neighbourhoods of twice the size, if the plan has
        neighbourhoods.
    encoder_ : Encoder
        How columns of X become inputs: `encoder_.input_names`, and `encoder_.columns` with the column of each input.
        Kernels of objects and matrices have no encoder.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from logikern import KernelLogisticClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelLogisticClassifier().fit(X, y).predict_proba(X[:1]).round(2)
    array([[0.99, 0.01, 0.  ]])
    """

    # The function that fits neighbourhoods; `logikern.dask` replaces it on an instance during a fit.
    _fit_cells = staticmethod(fit_here)
    # The function that reads targets; `KernelMultilabelClassifier` replaces it on an instance during a fit.
    _read_data = staticmethod(training_data)

    def __init__(
        self,
        kernel="auto",
        *,
        categorical_features="from_dtype",
        inputs="auto",
        hierarchy=None,
        label_kernel=None,
        coupling=None,
        tying="auto",
        rate=None,
        variance=None,
        bias_variance=16.0,
        criterion="cv",
        cv=5,
        ard="auto",
        learn_bias=False,
        sharpen="auto",
        one_vs_rest=False,
        search_size="auto",
        optimizer="quasi-newton",
        n_starts=1,
        max_time=None,
        checkpoint=None,
        on_interrupt="raise",
        solver="auto",
        operator="auto",
        precision="auto",
        state_precision="auto",
        tol=1e-4,
        max_iter=60,
        class_weight=None,
        memory_limit=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.categorical_features = categorical_features
        self.inputs = inputs
        self.hierarchy = hierarchy
        self.label_kernel = label_kernel
        self.coupling = coupling
        self.tying = tying
        self.rate = rate
        self.variance = variance
        self.bias_variance = bias_variance
        self.criterion = criterion
        self.cv = cv
        self.ard = ard
        self.learn_bias = learn_bias
        self.sharpen = sharpen
        self.one_vs_rest = one_vs_rest
        self.search_size = search_size
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.on_interrupt = on_interrupt
        self.solver = solver
        self.operator = operator
        self.precision = precision
        self.state_precision = state_precision
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            A frame may have columns of text, categories, booleans, dates (in days) and missing values. A missing
            number becomes the median of its column, with an indicator as an additional input. Columns without
            information are left out. With kernel="precomputed", X is the kernel matrix (n_samples, n_samples). With a
            function as kernel, X is any sequence of objects.
        y : array of shape (n_samples,) or (n_samples, n_classes)
            Class labels, or a distribution over classes for every row. With a hierarchy, labels of its nodes, or
            distributions over its leaves or over all its nodes.
        sample_weight : array of shape (n_samples,) or None, default=None
            Weights of the points' likelihoods. A weight of two counts as two rows. In a search, small weights, such
            as weights that sum to one, are treated as relative.
        groups : array of shape (n_samples,) or None, default=None
            Groups that are held out together, by cross-validation and by leave-one-out.

        Returns
        -------
        self : object
        """
        parameters = read_parameters(self)
        check_classification(parameters)
        forget_fit(self)
        data = self._read_data(parameters, partial(check_together, self), X, y, sample_weight)
        if data.encoder is not None:
            warn_of_columns(data.encoder)
        check_groups(groups, data.n_rows)
        given = GivenRows(X, y, groups)
        if parameters.one_vs_rest:
            write(self, fit_against_rest(self, parameters, given, data))
            return self
        alternatives = list_alternatives(parameters, data)
        _failures.refuse_before(parameters.solver, alternatives[0].start.kernels[0], data)
        with threads(self.n_jobs):
            plan = resolve(parameters, data, alternatives, given, find_resources(parameters.memory_limit))
            with listen(self, plan.search_length, X, y, sample_weight) as listeners:
                if parameters.learns_tree:
                    report = run_with_tree(parameters, plan, data, given, listeners, self._fit_cells)
                else:
                    report = run(plan, data, *listeners, fit_cells=self._fit_cells)
                data = report.data
                constants = report.free_constants() if parameters.is_bias_free else None
                model = report.model(stored_points(data), constants)
                found = search_results(report) | fit_results(report.result, model, self.tol, report.operator)
                found |= {"tree_": None} if parameters.learns_tree else {}
                write(self, found | class_results(data, model, parameters.draw_seed()))
        _failures.warn_unless_converged(self.outcome_, report.result, self.tol)
        return self

    def decision_function(self, X: Any) -> Array:
        """Latent functions at the rows of X, scaled by the learned temperature: probabilities are their softmax.

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes, the log odds of the second class.
        """
        found = latents(self, X)
        return found[:, 1] - found[:, 0] if found.shape[1] == 2 else found

    def predict_log_proba(self, X: Any) -> Array:
        """Log probabilities of the classes, (n_samples, n_classes)."""
        return log_probabilities(latents(self, X).T).T

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes in the order of `classes_`, (n_samples, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict_proba_frame(self, X: Any) -> Any:
        """Probabilities as a frame with one column per class and the rows named as in X.

        A polars frame for polars input, a pandas frame otherwise.
        """
        return labelled_frame(X, self.predict_proba(X), self.classes_)

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        # Latents that differ only in their last digit have equal probabilities: the first class wins.
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    @property
    def hyperparameters_(self) -> Any:
        """Name, class or group, value and start of every hyperparameter, as a frame."""
        check_is_fitted(self)
        if "binaries_" in self.__dict__:
            return stacked_frames([binary.hyperparameters_ for binary in self.binaries_], self.classes_)
        return hyperparameter_frame(self.model_.specification, self.start_, self.classes_, vars(self).get("encoder_"))

    def explain(self) -> str:
        """The final model, what it was compared with, the cost and the plan of the fit, in words."""
        if "binaries_" not in self.__dict__:
            return super().explain()
        headings = [f"{label} against the rest" for label in self.classes_]
        return explain_each(headings, [vars(binary) for binary in self.binaries_], self._words)
