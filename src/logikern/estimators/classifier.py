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
    """Kernel classifier with one softmax over all classes, fitted by Newton's method from kernel products.

    All classes are fitted together. P(class c | x) is the softmax of latent functions u_c, whose kernels are
    variance_c * k_c and which minimise the penalised negative log likelihood (Seeger 2008).

    Parameters
    ----------
    kernel : str, Kernel or callable, default="auto"
        "auto" compares a Gaussian, a Laplacian and a weighted mean of the two, and chooses by the criterion. It uses
        a linear kernel for sparse inputs such as word counts, and a Gaussian if hyperparameters are fixed. Other
        values: "gaussian", "laplacian", "gaussian_laplacian", "matern12", "matern32", "matern52",
        "rational_quadratic", "linear", "polynomial"; "precomputed" if X contains kernel values; a Kernel object; or a
        function of two points, which may be any objects (strings, graphs).
    categorical_features : "from_dtype", None, list of names or positions, or mask, default="from_dtype"
        Columns of X to treat as categories. "from_dtype" decides by type: a column of text or categories becomes one
        input per level, and a column of numbers or booleans becomes one input. None allows only numbers.
    inputs : {"auto", "raw", "standard", "ranks"}, default="auto"
        How to scale numbers: "raw" leaves them unscaled, "standard" standardises them, and "ranks" replaces them by
        their ranks in the training rows. The inputs for levels of categories stay 0 or 1. "auto" chooses between
        these scales by the criterion, but tries "raw" only if many columns share a unit, as pixels do. If
        hyperparameters are fixed or a rate is given, "auto" standardises only mixed tables.
    hierarchy : Tree, mapping, nested dict, paths, pairs, graph, "paths", "learn", Mixing or None, default=None
        A tree whose leaves are the classes, in any form that `read_tree` accepts; "paths" reads it from labels such
        as "physics/optics/lasers". Classes are then similar to the extent that their paths overlap, labels may name
        inner nodes, and classes without training rows get probabilities too. "learn" builds a tree that groups
        frequently confused classes, and keeps it only if it improves held-out predictions by more than the noise. A
        Mixing object defines any other linear map from latent functions to the functions of the classes.
    label_kernel : array of shape (n_classes, n_classes), frame, callable or None, default=None
        How similar classes are a priori: a positive semidefinite matrix in the order of `classes_`, a frame whose
        rows and columns are named after labels, or a function of two labels. The covariance of two classes is the
        kernel of the inputs times the value for these classes. With tying="auto", the search also learns how much
        classes have in common. If the matrix is singular, the identity times the mean of its diagonal is added.
    coupling : "auto", int or None, default=None
        Whether the search learns which classes are similar. An integer is the number of factors: the search learns
        loadings B, of shape (n_classes, n_factors), and the covariance is the kernel times (I + B B'). "auto" keeps
        factors only if they improve held-out predictions by more than twice the noise.
    tying : str, list or dict, default="auto"
        Which classes share kernels and variances. "shared": one kernel and one variance for all classes; "scaled":
        one kernel for all classes and one variance per class; "separate": one kernel and one variance per class. A
        list has one group label per class; each group has its own kernel and variance. "auto" starts with "shared"
        and moves towards "separate" as long as the model improves, unless a rate per column is kept first (`ard`).
        With a hierarchy, "level" has one kernel for all nodes and one variance per level, and "auto" starts there.
        "subtree" has one variance for the inner nodes and one for the leaves of each subtree below the root;
        "separate" has one kernel and one variance for each level; "leaf" has one variance per leaf, and "leaves" also
        has one kernel per leaf. A dict maps nodes to groups; a node that is not in the dict belongs to the group of
        its parent.
    rate : float, sequence of float or None, default=None
        Inverse squared length scale of the inputs, or inverse length scale for "laplacian": one number for all
        inputs, or one per column of X. None estimates it from the spread of the data. A search starts from it.
    variance : float, sequence of float or None, default=None
        Variance of the latent functions: one number, or one for each variance of `tying`. None estimates it from the
        size of the kernel values. A search starts from this value.
    bias_variance : float, default=16.0
        Prior variance of the bias of each class. 0 omits biases. Infinity leaves them unpenalised, which is possible
        only with a dense factorisation and not with criterion="cv".
    criterion : {"cv", "loo", "auto"}, callable or None, default="cv"
        What the search minimises, using the exact gradient. "cv" is the cross-validated log loss, "loo" is the
        leave-one-out log loss in closed form after a single fit, and "auto" is the cheaper of the two. A function
        receives a `CriterionData` and returns a `Criterion`. None keeps all hyperparameters fixed.
    cv : int, splitter or iterable of splits, default=5
        Folds of the criterion. A number makes stratified folds that respect the groups passed to `fit`. A splitter
        receives X, y and groups as passed to `fit`; if y contains distributions or paths, it receives the most likely
        class of each row as a number instead. All splits refer to the rows of X. The search restricts them to its
        own rows (see `search_size`), and skips splits that then have no rows to fit or no rows to hold out.
    ard : {"auto"} or bool, default="auto"
        Whether each input has its own rate (automatic relevance determination). "auto" tries this if `tying` is
        "auto" and there are not too many inputs.
    learn_bias : bool, default=False
        Whether to learn `bias_variance` as well.
    sharpen : {"auto"} or bool, default="auto"
        Whether the search also learns an entropy-dependent temperature, which does not change the most probable
        class. "auto" does so for a linear kernel if at least four fifths of the input values are zero, as in word
        counts. A temperature lowers the log loss on text; on tables, it may lower or raise it.
    one_vs_rest : bool, default=False
        Whether to fit one binary model per class, against all other classes, instead of fitting all classes together.
        This is meant as a baseline. The attribute `binaries_` contains these models.
    search_size : int, "auto" or None, default="auto"
        Maximum number of rows in the search. None uses all rows. "auto" uses 2000 rows, or fewer if an evaluation
        would be slow: about 1440 for leave-one-out with two classes, and 490 with ten. With more than 100 classes, it
        uses up to 20 rows per class. With 4000 rows or more, "auto" finishes the search for a distance-based kernel
        on up to eight neighbourhoods of at most 1000 rows. The final fit uses all rows. Without neighbourhoods, rates
        are extrapolated to the full number of rows, and so are variances for text with many classes.
    optimizer : {"quasi-newton", "nelder-mead"}, default="quasi-newton"
        How to minimise the criterion. "nelder-mead" uses no gradients, and needs many more evaluations.
    n_starts : int, default=1
        Number of starting points of the search: one is estimated from the data, and others are drawn around it.
    max_time : float or None, default=None
        Time limit of the search in seconds. After this time, the best hyperparameters so far are used.
    checkpoint : path or None, default=None
        File to which the search is written after every evaluation, so that a killed fit can resume from it. A file
        serves one fit at a time, and only with the same data and settings, including the code of functions. In a
        folder, each search has its own file: use a folder with `cross_val_score` or `GridSearchCV`, whose fits
        differ. A new name without a suffix is taken as a folder, which is created, with its parents if necessary.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does. "raise" raises KeyboardInterrupt; a checkpoint keeps all evaluations so far. "keep" ends the
        search with a warning and uses the best hyperparameters so far; in the final fit after a search, it keeps the
        current fit, or those partitions into neighbourhoods that are complete. A second Ctrl-C during the same fit
        always raises.
    solver : {"auto", "newton", "exact", "kcg", "smo"} or Solver, default="auto"
        Solver of the final fit. "newton" needs only kernel products; "exact" factors matrices in O(n_classes * n^3);
        "kcg" uses conjugate gradients in function space, with one kernel product per step; "smo" updates pairs of
        classes in turn, using rows of the kernel matrix, which it never stores; "auto" chooses by size. A Solver
        object has its own tolerance and budget.
    operator : str, NeighbourhoodSettings or callable, default="auto"
        How kernel products are computed. "dense" stores the kernel matrix, and "tiled" recomputes it in tiles.
        "features" replaces it by explicit features, "sparse" by sums over pairs of nearby rows, "fourier" by Fourier
        modes, and "fast" by the faster of "sparse" and "fourier". "neighbourhoods" or a NeighbourhoodSettings object
        divides the rows into neighbourhoods, as "auto" does above 12,000 rows. A function that takes (kernel, X,
        dtype, bytes) and returns an operator may also be passed.
    precision : {"auto", "single", "double"}, default="auto"
        Precision of kernel products; the exact solver always uses double. "auto" uses single precision for large
        data, and recomputes latent values in double precision before the fit counts as converged.
    state_precision : {"auto", "single", "double"}, default="auto"
        Precision of coefficients and latent values. "auto" uses single precision if double precision would fill half
        of the memory. With `bias_variance=inf`, it is always double.
    tol : float, default=1e-4
        Tolerance for the largest component of the gradient, in units of probability.
    max_iter : int, default=60
        Maximum number of Newton steps, and of the rounds of block coordinate ascent that precede them for text. "kcg"
        may take a hundred times as many steps, and "smo" twenty times as many.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class in the log likelihood.
    memory_limit : int, str or None, default=None
        Memory that `fit`, a prediction or leave-one-out may use in addition to the data, in bytes or as text ("2GB").
        None allows all free memory, within the limits of control groups. A kernel matrix that does not fit into
        memory is recomputed in tiles; if even this needs too much memory, an error is raised before any work begins.
    n_jobs : int or None, default=None
        Maximum number of threads. None, -1 and numbers that are too large mean as many threads as the BLAS may use.
        The environment variable `OPENBLAS_NUM_THREADS` or `threadpool_limits` can set this number.
    random_state : int, RandomState instance or None, default=None
        Seed of all random choices: the rows and folds of the search, the pivots of the preconditioner, the order of
        coordinate ascent, and the landmarks of leave-one-out.
    verbose : int, default=0
        1 prints a line for each evaluation of the search and for the final fit; 2 also prints each Newton step. The
        lines go to the logger "logikern", and to standard output unless you have set up a handler that shows them.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    dual_coef_ : array of shape (n_samples, n_classes)
        Expansion coefficients; zero for rows of weight zero. With neighbourhoods, the mean over partitions.
    kernels_ : tuple of Kernel
        One kernel for each group of classes that share a kernel.
    variances_ : array of shape (n_classes,)
        Variance of the latent function of each class. With a hierarchy, there is one for each node with siblings
        (`node_variances_` has one entry per node).
    loadings_ : array of shape (n_classes, n_factors)
        Loadings of the learned factors. This attribute exists only if classes are coupled.
    tree_ : Tree or None
        The hierarchy. This attribute exists only with a hierarchy; it is None if a learned tree was not better.
    n_iter_ : int
        Number of Newton steps.
    trace_ : tuple of Record or NewtonStep
        Evaluations of the search or, without a search, steps of the fit.
    newton_trace_ : tuple of NewtonStep
        Steps of the final fit.
    criterion_value_ : float
        Criterion at the learned hyperparameters: the mean held-out loss per row, plus a penalty on the temperature.
    hyperparameters_ : frame
        Name, class or group, value and starting value of each hyperparameter.
    outcome_ : Outcome
        How the fit ended; its value is a sentence.
    stopped_early_ : str
        Why the search ended early (`max_time` or Ctrl-C); empty if it did not.
    interrupted_ : bool
        Whether Ctrl-C ended the search or the final fit early (see `on_interrupt`).
    plan_ : FitPlan
        All decisions made before the fit; `print` shows them. A model file contains only the printed text.
    operator_ : str
        How kernel products were computed, and why.
    approximation_ : Approximation or None
        If the plan has neighbourhoods: their held-out loss, compared with that of neighbourhoods of twice the size.
    encoder_ : Encoder
        How columns of X become inputs: `encoder_.input_names` are the names of the inputs, and `encoder_.columns` is
        the column of each input. Kernels of objects and precomputed kernels have no encoder.
    n_features_in_ : int
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
            number is replaced by the median of its column, and an additional input indicates that it was missing.
            Columns without information are dropped. With kernel="precomputed", X is the kernel matrix, (n_samples,
            n_samples). If the kernel is a function, X is any sequence of objects.
        y : array of shape (n_samples,) or (n_samples, n_classes)
            Class labels, or a distribution over the classes for each row. With a hierarchy, labels of its nodes, or
            distributions over its leaves or over all of its nodes.
        sample_weight : array of shape (n_samples,) or None, default=None
            Weight of each row in the log likelihood. A weight of two counts as two rows. The search treats small
            weights, such as weights that sum to one, as relative.
        groups : array of shape (n_samples,) or None, default=None
            Group of each row. Cross-validation and leave-one-out hold out whole groups.

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
        """Values of the latent functions at the rows of X, scaled by the learned temperature.

        Their softmax gives the probabilities.

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
        """Probabilities as a frame with one column per class and the row names of X.

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
        """Name, class or group, value and starting value of each hyperparameter, as a frame."""
        check_is_fitted(self)
        if "binaries_" in self.__dict__:
            return stacked_frames([binary.hyperparameters_ for binary in self.binaries_], self.classes_)
        return hyperparameter_frame(self.model_.specification, self.start_, self.classes_, vars(self).get("encoder_"))

    def explain(self) -> str:
        """Describe the final model, the models that it was compared with, and the cost and the plan of the fit."""
        if "binaries_" not in self.__dict__:
            return super().explain()
        headings = [f"{label} against the rest" for label in self.classes_]
        return explain_each(headings, [vars(binary) for binary in self.binaries_], self._words)
