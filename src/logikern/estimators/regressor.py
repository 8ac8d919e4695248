"""The regressor that scikit-learn's users see."""

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from logikern.criteria.noise import unexplained
from logikern.estimators import _failures
from logikern.estimators._callbacks import CallbackSupportMixin, listen, with_callbacks
from logikern.estimators._fitted.frames import hyperparameter_frame
from logikern.estimators._fitted.prediction import latents
from logikern.estimators._fitted.story import SearchStory, Words
from logikern.estimators._inputs.alternatives import Alternative
from logikern.estimators._inputs.data import check_groups, check_together
from logikern.estimators._inputs.regression import numbers
from logikern.estimators._inputs.splits import GivenRows
from logikern.estimators._inputs.start import start_specification
from logikern.estimators._inputs.tables import warn_of_columns
from logikern.estimators._memory import find_resources
from logikern.estimators._parameters import check_regression, read_parameters
from logikern.estimators._plan import resolve
from logikern.estimators._results import (
    fit_results,
    fitted_numbers,
    forget_fit,
    number_results,
    search_results,
    write,
)
from logikern.estimators._run import run, stored_points, threads
from logikern.numerics.outcome import Array


class KernelRegressor(SearchStory, CallbackSupportMixin, RegressorMixin, BaseEstimator):
    """Penalised least squares with kernels: the mean of a Gaussian process, tuned by exact leave-one-out.

    For each output c, the function u_c minimises sum_i (y_ic - u_c(x_i))^2 / 2 + |u_c|^2 / 2 in the function space
    of the kernel variance * k. So `variance` is the variance of the function in units of the noise variance, which
    is 1 / alpha in KernelRidge. The mean depends only on this number and on the parameters of the kernel.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        "gaussian", "matern12", "matern32", "matern52", "rational_quadratic", "laplacian", "linear", "polynomial";
        "precomputed" if X contains kernel values; a Kernel object; or a function of two points, which may be any
        objects (strings, graphs).
    categorical_features : "from_dtype", None, list of names or positions, or mask, default="from_dtype"
        Columns of X to treat as categories. "from_dtype" decides by type: a column of text or categories becomes one
        input per level, and a column of numbers or booleans becomes one input. None allows only numbers.
    inputs : {"auto", "raw", "standard", "ranks"}, default="auto"
        How to scale numbers: "raw" leaves them unscaled, "standard" standardises them, and "ranks" replaces them by
        their ranks in the training rows. The inputs for levels of categories stay 0 or 1. "auto" standardises tables
        that contain categories, booleans or dates as well as numbers, and leaves other tables unscaled.
    tying : {"auto", "shared", "scaled", "separate"} or list, default="shared"
        Which outputs share kernels and variances. "shared": one kernel and one variance for all outputs; "scaled":
        one kernel for all outputs and one variance per output; "separate": one kernel and one variance per output. A
        list has one group label per output; each group has its own kernel and variance. "auto" starts with "shared"
        and moves towards "separate" as long as the criterion improves by more than its noise.
    rate : float, sequence of float or None, default=None
        Inverse squared length scale of the inputs, or inverse length scale for "laplacian": one number for all
        inputs, or one per column of X. None estimates it from the spread of the data. A search starts from this
        value.
    variance : float, sequence of float or None, default=None
        Variance of the functions in units of the noise variance: one number, or one for each variance of `tying`.
        None estimates it from the size of the kernel values. A search starts from this value.
    bias_variance : float, default=16.0
        Prior variance of the constant term of each output, in units of the noise variance. The constant is shrunk
        towards the mean of y. With 0, there is no constant and the mean is not subtracted, as in KernelRidge.
        Infinity leaves the constant unpenalised, which is possible only with a dense factorisation and not
        with criterion="cv".
    criterion : {"loo", "cv"}, callable or None, default="loo"
        What the search minimises, using the exact gradient. "loo" is the mean squared leave-one-out error, exact and
        in closed form after a single fit; "cv" is the mean squared error of held-out folds, with one fit per fold. A
        function receives a `CriterionData` and returns a `Criterion`. None keeps all hyperparameters fixed.
    cv : int, splitter, iterable of splits or None, default=None
        Folds: sets of rows that are held out together. None means five folds or, with criterion="loo", single rows or
        the groups passed to `fit`. With criterion="loo", folds must hold out each row exactly once, and they too are
        held out in closed form. A number makes folds that respect the groups passed to `fit`. A splitter receives X,
        y and groups as passed to `fit`. All splits refer to the rows of X. The search restricts them to its own rows
        (see `search_size`), and skips splits that then have no rows to fit or no rows to hold out.
    ard : {"auto"} or bool, default="auto"
        Whether each input has its own rate (automatic relevance determination). "auto" tries this if `tying` is
        "shared" or "auto" and there are not too many inputs.
    learn_bias : bool, default=False
        Whether to learn `bias_variance` as well.
    search_size : int, "auto" or None, default="auto"
        Maximum number of rows in the search. None uses all rows. "auto" uses 2000 rows; with leave-one-out, it uses
        as many as the cost of an evaluation allows, 2289 for one output and 1062 for ten. The final fit uses all
        rows, and rates are extrapolated to the full number of rows.
    optimizer : {"quasi-newton", "nelder-mead"}, default="quasi-newton"
        How to minimise the criterion. "nelder-mead" uses only values of the criterion, not gradients, and needs many
        more evaluations.
    n_starts : int, default=1
        Number of starting points of the search: the first is estimated from the data, and the others are drawn at
        random around it.
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
        current fit. A second Ctrl-C during the same fit always raises.
    solver : {"auto", "newton", "exact", "kcg"} or Solver, default="auto"
        Solver of the final fit. "newton" needs only kernel products; "exact" factors the matrix in O(n_outputs *
        n^3); "kcg" uses conjugate gradients in function space, with one kernel product per step, until the duality
        gap is below tol^2 times the penalised loss; "auto" chooses by size. A Solver object has its own tolerance and
        budget.
    operator : {"auto", "dense", "tiled", "features", "sparse", "fourier", "fast"} or callable, default="auto"
        How kernel products are computed. "dense" stores the kernel matrix, and "tiled" recomputes it in tiles.
        "features" replaces it by explicit features, "sparse" by sums over pairs of nearby rows, "fourier" by Fourier
        modes, and "fast" by the faster of "sparse" and "fourier". A function that takes (kernel, X, dtype, bytes) and
        returns an operator may also be passed.
    precision : {"auto", "single", "double"}, default="auto"
        Precision of kernel products; the exact solver always uses double. "auto" uses single precision for large
        data, and recomputes function values in double precision before the fit counts as converged.
    tol : float, default=1e-4
        Tolerance for the largest component of the gradient, relative to the spread of y and to the largest residual.
    max_iter : int, default=60
        Maximum number of Newton steps; the squared loss needs only one or two. "kcg" may take a hundred times as many
        steps.
    memory_limit : int, str or None, default=None
        Memory that `fit` or a prediction may use in addition to the data, in bytes or as text ("2GB"). None allows
        all free memory, within the limits of control groups. A kernel matrix that does not fit into memory is
        recomputed in tiles; if even this needs too much memory, an error is raised before any work begins.
    n_jobs : int or None, default=None
        Maximum number of threads. None, -1 and numbers that are too large mean as many threads as the BLAS may use.
        The environment variable `OPENBLAS_NUM_THREADS` or `threadpool_limits` can set this number.
    random_state : int, RandomState instance or None, default=None
        Seed of all random choices: the rows and folds of the search, and the pivots of the preconditioner.
    verbose : int, default=0
        1 prints a line for each evaluation of the search and for the final fit; 2 also prints each step. The lines go
        to the logger "logikern", and to standard output unless you have set up a handler that shows them.

    Attributes
    ----------
    dual_coef_ : array of shape (n_samples,) or (n_samples, n_outputs)
        Expansion coefficients; zero for rows of weight zero.
    kernels_ : tuple of Kernel
        One kernel for each group of outputs that share a kernel.
    variances_ : array of shape (n_outputs,)
        Variance of the function of each output, in units of the noise variance.
    n_outputs_ : int
    n_iter_ : int
        Number of steps.
    trace_ : tuple of Record or NewtonStep
        Evaluations of the search or, without a search, steps of the fit.
    newton_trace_ : tuple of NewtonStep
        Steps of the final fit.
    criterion_value_ : float
        Value of the criterion, which is n_outputs / 2 times the logarithm of `held_out_error_`.
    held_out_error_ : float
        Mean squared error of held-out rows at the learned hyperparameters, in units of the variance of y: about one
        minus the score to expect on new rows. It is nan for a criterion of your own.
    held_out_rmse_ : array of shape (n_outputs,)
        Root mean squared error of held-out rows in units of y: the standard deviation of the error of a prediction.
        For several outputs, it assumes that all have the same `held_out_error_`.
    hyperparameters_ : frame
        Name, outputs, value and starting value of each hyperparameter.
    outcome_ : Outcome
        How the fit ended; its value is a sentence.
    stopped_early_ : str
        Why the search ended early (`max_time` or Ctrl-C); empty if it did not.
    interrupted_ : bool
        Whether Ctrl-C ended the search or the final fit early (see `on_interrupt`).
    plan_ : FitPlan
        All decisions made before the fit; `print` shows them. A model file contains only the printed text.
    operator_ : str
        How kernel products were computed, and why, as a sentence.
    encoder_ : Encoder
        How columns of X become inputs: `encoder_.input_names` are the names of the inputs, and `encoder_.columns` is
        the column of each input. Kernels of objects and precomputed kernels have no encoder.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from logikern import KernelRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(KernelRegressor(random_state=0).fit(X[:300], y[:300]).score(X[300:], y[300:]), 1)
    0.5
    """

    _words = Words(
        "output",
        "half the log of (mean squared held-out error / variance of y), multiplied by the number of outputs",
    )

    def __init__(
        self,
        kernel="gaussian",
        *,
        categorical_features="from_dtype",
        inputs="auto",
        tying="shared",
        rate=None,
        variance=None,
        bias_variance=16.0,
        criterion="loo",
        cv=None,
        ard="auto",
        learn_bias=False,
        search_size="auto",
        optimizer="quasi-newton",
        n_starts=1,
        max_time=None,
        checkpoint=None,
        on_interrupt="raise",
        solver="auto",
        operator="auto",
        precision="auto",
        tol=1e-4,
        max_iter=60,
        memory_limit=None,
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
        self.criterion = criterion
        self.cv = cv
        self.ard = ard
        self.learn_bias = learn_bias
        self.search_size = search_size
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.on_interrupt = on_interrupt
        self.solver = solver
        self.operator = operator
        self.precision = precision
        self.tol = tol
        self.max_iter = max_iter
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
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array of shape (n_samples,) or None, default=None
            Weight of the squared error of each row: the inverse variance of its noise.
        groups : array of shape (n_samples,) or None, default=None
            Group of each row. The criterion holds out whole groups.

        Returns
        -------
        self : object
        """
        parameters = read_parameters(self)
        check_regression(parameters)
        forget_fit(self)
        own = numbers(parameters, partial(check_together, self), X, y, sample_weight)
        if own.data.encoder is not None:
            warn_of_columns(own.data.encoder)
        check_groups(groups, own.data.n_rows)
        start = start_specification(parameters, own.data)
        _failures.refuse_before(parameters.solver, start.kernels[0], own.data)
        with threads(self.n_jobs):
            resources = find_resources(parameters.memory_limit)
            plan = resolve(parameters, own.data, (Alternative("", None, start),), GivenRows(X, y, groups), resources)
            with listen(self, plan.search_length, X, y, sample_weight) as listeners:
                report = run(plan, own.data, *listeners)
                model = fitted_numbers(report, stored_points(own.data), own)
                found = search_results(report) | fit_results(report.result, model, self.tol, report.operator)
                named = not callable(self.criterion)
                found["held_out_error_"] = unexplained(found["criterion_value_"], len(own.scale)) if named else np.nan
                found["held_out_rmse_"] = np.sqrt(found["held_out_error_"]) * own.scale
                write(self, found | number_results(own, model))
        _failures.warn_unless_converged(self.outcome_, report.result, self.tol)
        return self

    def predict(self, X: Any) -> Array:
        """Values of the outputs, (n_samples,) or (n_samples, n_outputs), like y in `fit`."""
        values = latents(self, X)
        return values if self.dual_coef_.ndim == 2 else values[:, 0]

    @property
    def hyperparameters_(self) -> Any:
        """Name, outputs, value and starting value of each hyperparameter, as a frame."""
        check_is_fitted(self)
        encoder = vars(self).get("encoder_")
        frame = hyperparameter_frame(self.model_.specification, self.start_, self.outputs_, encoder)
        return frame.rename(columns={"classes": "outputs"})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
