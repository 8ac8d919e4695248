"""The multilabel classifier that scikit-learn's users see."""

import numbers
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin
from sklearn.utils import check_random_state

from logikern.estimators._inputs.arguments import check_name
from logikern.estimators._parameters import check_classification, read_parameters
from logikern.estimators._results import forget_fit
from logikern.estimators.classifier import KernelLogisticClassifier
from logikern.estimators.multilabel._answers import LabelSetAnswers
from logikern.estimators.multilabel._choice import Choice, choose_structure, fit_given
from logikern.estimators.multilabel._labels import LabelTable, read_table
from logikern.estimators.multilabel._structures import STRUCTURES, GivenLabels


class KernelMultilabelClassifier(LabelSetAnswers, MultiOutputMixin, ClassifierMixin, BaseEstimator):
    """Kernel classifier for rows with any number of labels.

    Either labels are independent given the inputs, or the label sets seen in training are the classes of one softmax
    (Memisevic 2006, sec. 4, with all sets enumerated). Hyperparameters are learned by cross-validation, as in
    `KernelLogisticClassifier`.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="auto"
        As in `KernelLogisticClassifier`.
    structure : {"auto", "independent", "joint", "coupled"}, default="auto"
        How labels depend on each other, given the inputs. "independent": each label has its own latent function; the
        hyperparameters of all labels are learned together, and the criterion is the sum of the log losses of all
        labels. "joint": one softmax over the label sets seen in training. "coupled": the same softmax, but label sets
        that contain the same label also share a function; this takes several times as long. "auto" fits "independent"
        and "joint", and uses the structure with the lower cross-validated joint log loss on the training rows. It
        does not try "joint" if there are very many label sets, or if more than half of the rows have a label set that
        no other row has; `explain` says so.
    hierarchy : Tree, mapping, nested dict, paths, pairs, graph, "paths" or None, default=None
        A tree whose nodes are the labels, in any form that `read_tree` accepts; "paths" reads it from column names
        such as "art/music". A row with a label also has all labels above it, which are added if they are missing.
        With structure="independent", labels are then independent given their parents: the probability of a label is a
        product along its path, and never exceeds the probability of its parent. See `node_indicators`.
    categorical_features : "from_dtype", None, list of names or positions, or mask, default="from_dtype"
        As in `KernelLogisticClassifier`.
    inputs : {"auto", "raw", "standard", "ranks"}, default="auto"
        As in `KernelLogisticClassifier`.
    tying : {"auto", "shared", "scaled", "separate"}, default="auto"
        Which labels, or label sets, share kernels and variances. "shared": one kernel and one variance for all;
        "scaled": one kernel for all and one variance for each; "separate": one kernel and one variance for each.
        "auto" starts with "shared" and moves towards "separate" as long as the model improves.
        In the coupled structure, both labels and label sets have functions. With "shared", all functions of labels
        share one variance, and all functions of label sets share another. With "separate", these two groups also have
        different kernels. With "scaled", each label set has its own variance.
    rate : float, sequence of float or None, default=None
        As in `KernelLogisticClassifier`.
    variance : float or None, default=None
        Variance of the latent functions. As in a softmax over two classes, the log odds of an independent label are
        the difference of two functions, so they have twice this variance. None estimates it from the size of the
        kernel values. A search starts from this value.
    bias_variance : float, default=16.0
        Prior variance of the biases of the latent functions. 0 omits biases.
    criterion : {"cv", "loo", "auto"}, callable or None, default="cv"
        As in `KernelLogisticClassifier`. The loss is the log loss of label sets.
    cv : int, splitter or iterable of splits, default=5
        Folds of the criterion and of the comparison of structures. A number makes stratified folds. For
        independent labels, the stratum of a row is its rarest label; for a joint model, it is its label set. A
        splitter receives these strata as y.
    ard : {"auto"} or bool, default="auto"
        Whether each input has its own rate (automatic relevance determination), as in `KernelLogisticClassifier`.
    search_size : int, "auto" or None, default="auto"
        Maximum number of rows in the search, as in `KernelLogisticClassifier`.
    max_time : float or None, default=None
        Time limit of the search for each structure, in seconds. After this time, the best hyperparameters so far are
        used.
    checkpoint : path or None, default=None
        File or folder to which searches are written, as in `KernelLogisticClassifier`. With structure="auto", each
        structure has its own file: the name gets the suffix ".independent" or ".joint".
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does, as in `KernelLogisticClassifier`. With structure="auto", "keep" also skips the remaining
        steps. If the fit of independent labels is interrupted, the joint structure is not tried. If the comparison is
        interrupted, the fit has independent labels.
    solver : {"auto", "newton", "exact"}, default="auto"
        Solver of the final fit: "newton" is iterative, "exact" factors matrices, and "auto" chooses by size.
    operator : {"auto", "dense", "tiled", "features", "sparse", "fourier", "fast"} or callable, default="auto"
        How kernel products are computed, as in `KernelLogisticClassifier`. A fit of independent labels is never
        divided, however many rows there are.
    precision : {"auto", "single", "double"}, default="auto"
        Precision of kernel products.
    tol : float, default=1e-4
        Tolerance for the largest component of the gradient.
    max_iter : int, default=60
        Maximum number of Newton steps.
    memory_limit : int, str or None, default=None
        Memory that `fit` or a prediction may use in addition to the data, in bytes or as text ("2GB").
    n_jobs : int or None, default=None
        Maximum number of threads.
    random_state : int, RandomState instance or None, default=None
        Seed of all random choices.
    verbose : int, default=0
        1 prints a line for each evaluation of the search and for the final fit; 2 also prints each Newton step.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The labels: the column names of y if it was a frame, otherwise the nodes of the hierarchy, or 0 to n_labels -
        1.
    tree_ : Tree
        The hierarchy. This attribute exists only with a hierarchy.
    structure_ : {"independent", "joint", "coupled"}
        The structure that is used.
    comparison_ : StructureComparison or None
        With structure="auto", the held-out joint log losses of both structures; `print` shows them. None if only one
        structure was fitted.
    label_sets_ : array of shape (n_sets, n_labels)
        The label sets of the training rows, as indicators.
    unseen_share_ : float
        For joint and coupled models, the probability r of a label set that no training row has, estimated from the
        number of sets that occur once (Good 1953). P(set) is (1 - r) times the softmax over `label_sets_`, plus r
        times the product of the marginal probabilities. For independent labels, r is 1, because P(set) is this
        product.
    set_classifier_ : KernelLogisticClassifier
        For joint and coupled models, the softmax over label sets. Its classes are the rows of `label_sets_`.
    criterion_value_ : float
        Criterion at the learned hyperparameters: mean held-out log loss of label sets.
    kernels_ : tuple of Kernel
    variances_ : array of shape (n_functions,)
        One variance for each label that varies, or for each label set; in the coupled structure, for both.
    outcome_ : Outcome
        How the fit ended; its value is a sentence.
    interrupted_ : bool
        Whether Ctrl-C ended a search, the final fit or the comparison early (see `on_interrupt`).
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from logikern import KernelMultilabelClassifier
    >>> X, Y = make_multilabel_classification(n_samples=150, n_classes=3, random_state=0)
    >>> model = KernelMultilabelClassifier(structure="independent", random_state=0).fit(X[:100], Y[:100])
    >>> model.predict_proba(X[100:]).shape
    (50, 3)
    """

    def __init__(
        self,
        kernel="auto",
        *,
        structure="auto",
        hierarchy=None,
        categorical_features="from_dtype",
        inputs="auto",
        tying="auto",
        rate=None,
        variance=None,
        bias_variance=16.0,
        criterion="cv",
        cv=5,
        ard="auto",
        search_size="auto",
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
        self.structure = structure
        self.hierarchy = hierarchy
        self.categorical_features = categorical_features
        self.inputs = inputs
        self.tying = tying
        self.rate = rate
        self.variance = variance
        self.bias_variance = bias_variance
        self.criterion = criterion
        self.cv = cv
        self.ard = ard
        self.search_size = search_size
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            As in `KernelLogisticClassifier`.
        y : array, sparse matrix or frame of shape (n_samples, n_labels)
            Indicator matrix: 1 or True if a row has a label, else 0 or False. A label that all rows
            have gets probability 1, and a label that no row has gets probability 0, with a warning. With a hierarchy,
            there is one column per node: the columns of a frame are named after nodes, and the columns of an array
            are in the order of `read_tree(hierarchy).labels`.
        sample_weight : array of shape (n_samples,) or None, default=None
            Weight of each row in the log likelihood. A weight of two counts as two rows.
        groups : array of shape (n_samples,) or None, default=None
            Group of each row. The criterion holds out whole groups.

        Returns
        -------
        self : object
        """
        settings = self._settings()
        forget_fit(self)
        table = read_table(type(self).__name__, y, sample_weight, self.hierarchy)
        given = GivenLabels(X, table, sample_weight, groups)
        if self.structure != "auto":
            choice = fit_given(self.structure, settings, given)
        else:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            choice = choose_structure(settings, given, seed)
        self._write(table, choice)
        return self

    def _settings(self) -> dict[str, Any]:
        """Settings of the inner classifier, checked before any work."""
        self._check_arguments()
        settings = self.get_params(deep=False)
        del settings["structure"], settings["hierarchy"]  # how labels depend on each other
        check_classification(read_parameters(KernelLogisticClassifier(**settings)))
        if not (hasattr(self.cv, "split") or isinstance(self.cv, numbers.Integral | str | None)):
            settings["cv"] = list(self.cv)  # splits may be readable only once
        return settings

    def _check_arguments(self) -> None:
        """Reject arguments that a classifier of single labels would accept."""
        check_name("structure", self.structure, ("auto", *STRUCTURES))
        check_name("tying", self.tying, ("auto", "shared", "scaled", "separate"))
        check_name("solver", self.solver, ("auto", "newton", "exact"))
        if isinstance(self.bias_variance, float) and np.isinf(self.bias_variance):
            raise ValueError("`bias_variance` must be finite, but is infinite. Use a large value such as 1e4.")
        if self.variance is not None and np.ndim(self.variance):
            raise ValueError(f"`variance` must be one number or None, but is {self.variance!r}.")

    def _write(self, table: LabelTable, choice: Choice) -> None:
        """Set the fitted attributes."""
        seen = np.unique(table.indicator[table.weights > 0], axis=0)
        self.classes_, self.label_sets_ = table.names, seen.astype(np.int64)
        if table.tree is not None:
            self.tree_ = table.tree
        self.structure_, self.comparison_, self.interrupted_ = choice.name, choice.comparison, choice.interrupted
        self._fitted, self._obstacle = choice.fitted, choice.obstacle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = KernelLogisticClassifier(self.kernel).__sklearn_tags__().input_tags
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags
