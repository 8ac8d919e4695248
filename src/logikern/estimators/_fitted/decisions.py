"""Decisions from probabilities, and nodes and paths of a hierarchy."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from logikern.decisions.rules import decide, to_labels
from logikern.decisions.tree_errors import node_scores
from logikern.decisions.tree_rules import decide_on_tree
from logikern.decisions.tree_scores import align_nodes
from logikern.estimators._fitted.frames import labelled_frame
from logikern.estimators._inputs.hierarchy import as_column
from logikern.numerics.outcome import Array
from logikern.reporting.tree import plot_tree
from logikern.structure.taxonomy import ancestors_at, labels_of, paths_of
from logikern.structure.tree import Tree, as_labels


class DecisionMixin:
    """Decisions of least expected loss, and the probabilities of inner nodes."""

    def decide(
        self,
        X: Any,
        loss: Any = None,
        reject_cost: float | None = None,
        reject_label: Any = None,
        allow_inner: bool = False,
    ) -> Array:
        """The decision with the smallest expected loss for each row.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        loss : array of shape (n_classes, n_classes), callable, str or None, default=None
            The cost of deciding d when c is true, as an array `loss[d, c]` or a function `loss(d, c)` of two labels.
            With None or "zero_one", every error costs 1. Rows and columns of a frame are matched by name. With a
            hierarchy, the loss may also be "taxonomic" (half the length of the path between d and c) or "parent" (1
            if d and c have different parents).
        reject_cost : float or None, default=None
            Cost of abstaining. A row is rejected if every decision has a higher expected cost.
        reject_label : object, default=None
            Label of rejected rows in the result.
        allow_inner : bool, default=False
            With a hierarchy, whether the decision may be an inner node if no leaf is certain enough. A loss matrix
            then has one row per node, in the order of `tree_.labels`.

        Returns
        -------
        array of shape (n_samples,)
            Labels from `classes_`, labels of inner nodes, or `reject_label`.
        """
        proba = self.predict_proba(X)  # type: ignore[attr-defined]
        tree = self.__dict__.get("tree_")
        if tree is not None:
            decided = decide_on_tree(proba, tree, "zero_one" if loss is None else loss, allow_inner, reject_cost)
            labels = labels_of(decided.decisions, tree) if reject_cost is None else None
            return to_labels(decided, as_labels(tree.labels), reject_label) if labels is None else labels
        if allow_inner or (isinstance(loss, str) and loss != "zero_one"):
            wanted = "allow_inner=True" if allow_inner else f"loss={loss!r}"
            raise ValueError(
                f"`{wanted}` needs a hierarchy of the classes. Fit with `hierarchy`, or omit `{wanted}`."
            )
        classes = self.classes_  # type: ignore[attr-defined]
        shape = np.shape(loss)
        if loss is not None and not callable(loss) and not isinstance(loss, str) and shape[:1] != (len(classes),):
            raise ValueError(
                f"`loss` must have a row for each of the {len(classes)} classes, which are the possible decisions, "
                f"but has shape {shape!r}. For other decisions use `logikern.decide` on the probabilities."
            )
        decided = decide(proba, None if isinstance(loss, str) else loss, reject_cost, classes)
        return classes[decided.decisions] if reject_cost is None else to_labels(decided, classes, reject_label)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose most probable class is the true class or lies below the true node."""
        if self.__dict__.get("tree_") is None:
            return super().score(X, y, sample_weight)  # type: ignore[misc]
        tree = self._fitted_tree()
        # Test rows may have classes that did not occur in training; these rows count as errors.
        cases = align_nodes(as_column(y), self.predict(X), tree, sample_weight, allow_unknown=True)  # type: ignore[attr-defined]
        return cases.mean(ancestors_at(cases.decided, tree.depths[cases.true], tree) == cases.true)

    def predict_node_proba(self, X: Any) -> Array:
        """Probabilities of all nodes of the hierarchy in the order of `tree_.labels`, (n_samples, n_nodes).

        The probability of an inner node is the sum over the leaves below it.
        """
        proba = self.predict_proba(X)  # type: ignore[attr-defined]
        return np.ascontiguousarray(self._fitted_tree().node_sums(proba.T).T)

    def predict_node_proba_frame(self, X: Any) -> Any:
        """`predict_node_proba` as a frame with one column per node."""
        return labelled_frame(X, self.predict_node_proba(X), as_labels(self._fitted_tree().labels))

    def predict_paths(self, X: Any, loss: Any = "zero_one", allow_inner: bool = False) -> list[tuple[Any, ...]]:
        """The labels on the path from the top of the hierarchy to the decided node, one tuple per row."""
        proba = self.predict_proba(X)  # type: ignore[attr-defined]
        tree = self._fitted_tree()
        return paths_of(decide_on_tree(proba, tree, loss, allow_inner).decisions, tree)

    @property
    def node_variances_(self) -> Array:
        """Variance of each node's latent function in the order of `tree_.labels`; nan for nodes without one."""
        tree = self._fitted_tree()
        own = self.variances_  # type: ignore[attr-defined]
        variances = np.full(len(tree.labels), np.nan)
        variances[tree.branches] = own
        return variances

    def plot_tree(self, X: Any = None, y: Any = None, ax: Any = None, max_nodes: int = 60) -> Any:
        """Draw the hierarchy with the learned variances and, given X and y, the recall of each node.

        Returns the matplotlib Axes.
        """
        tree = self._fitted_tree()
        if (X is None) != (y is None):
            raise ValueError(
                "`plot_tree` needs both X and y, or neither, but one of them is None. Pass both to show the recall "
                "of each node."
            )
        scores = None if X is None else node_scores(y, self.predict(X), tree)  # type: ignore[attr-defined]
        return plot_tree(tree, scores, self.node_variances_, ax, max_nodes)

    def _fitted_tree(self) -> Tree:
        check_is_fitted(self)
        tree = self.__dict__.get("tree_")
        if tree is None:
            raise AttributeError("The model has no hierarchy, so there are no nodes. Fit with `hierarchy`.")
        return tree
