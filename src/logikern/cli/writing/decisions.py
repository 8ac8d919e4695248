"""A table of the decisions with the smallest expected loss."""

from typing import Any

import numpy as np
import pandas as pd

from logikern.cli.models import tree_of
from logikern.cli.options import Rule
from logikern.cli.reading.cells import level
from logikern.cli.reading.labels import joined
from logikern.cli.reading.losses import NAMES, read_losses
from logikern.decisions.rules import DecisionResult, decide, to_labels
from logikern.decisions.tree_rules import decide_on_tree


def decided_rows(model: Any, X: Any, rule: Rule) -> pd.DataFrame:
    """The decision for every row, and its expected loss."""
    decided, labels = _decide(model, model.predict_proba(X), rule)
    names = [joined(label) for label in labels]
    if rule.reject_cost is None:
        decisions: Any = [names[decision] for decision in decided.decisions]
    else:
        # As text, because the label of rejected rows is text, too.
        decisions = to_labels(decided, np.array([level(name) for name in names], dtype=object), rule.reject_label)
    return pd.DataFrame({"decision": decisions, "expected_loss": decided.expected_loss})


def _decide(model: Any, probabilities: np.ndarray, rule: Rule) -> tuple[DecisionResult, Any]:
    """The decisions, and the label of each of them."""
    tree, is_named = tree_of(model), rule.loss in (None, *NAMES)
    if not is_named:
        if rule.allow_inner:
            raise ValueError(
                "`--allow-inner` needs `--loss taxonomic`, but `--loss` is a table. Remove `--allow-inner`; inner "
                "nodes may be decisions if the table has rows for them."
            )
        table = read_losses(str(rule.loss), list(model.classes_ if tree is None else tree.classes))
        return decide(probabilities, table.losses, rule.reject_cost), table.decisions
    if tree is not None:
        loss = rule.loss or ("taxonomic" if rule.allow_inner else "zero_one")
        return decide_on_tree(probabilities, tree, loss, rule.allow_inner, rule.reject_cost), tree.labels
    if rule.allow_inner or rule.loss not in (None, "zero_one"):
        option = "--allow-inner" if rule.allow_inner else f"--loss {rule.loss}"
        raise ValueError(f"`{option}` needs a class tree, but the model has no tree. Fit it with `--hierarchy`.")
    return decide(probabilities, None, rule.reject_cost), model.classes_
