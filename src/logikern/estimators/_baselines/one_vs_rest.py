"""One binary model per class against the rest (1rest of Seeger 2008, sec. 6.2)."""

from typing import Any

from logikern.estimators._callbacks import log
from logikern.estimators._checkpoint import checkpoint_of
from logikern.estimators._inputs.data import TrainingData, compares_scalings
from logikern.estimators._inputs.labels import class_against_rest
from logikern.estimators._inputs.splits import GivenRows, list_splits
from logikern.estimators._memory import find_resources, limit_for_each
from logikern.estimators._parameters import Parameters
from logikern.estimators._results import binary_results, input_results
from logikern.estimators._search_plan import leaves_one_out


def fit_against_rest(classifier: Any, parameters: Parameters, given: GivenRows, data: TrainingData) -> dict[str, Any]:
    """Fitted attributes of a classifier with one binary model per class, each with its own hyperparameters."""
    if data.mixing.is_coupled:
        raise ValueError(
            "`one_vs_rest` is True, but classes of a hierarchy are fitted together. Use one_vs_rest=False, or "
            "hierarchy=None."
        )
    if not isinstance(classifier.tying, str):
        raise ValueError(
            "With one_vs_rest=True, each model has two classes, so `tying` must be a name, but is a list. "
            "Pass 'shared'."
        )
    own = classifier.get_params(deep=False) | {"one_vs_rest": False, "class_weight": None}
    if classifier.criterion is not None and not leaves_one_out(parameters, len(data.weights), 2):
        # All models have the same splits, which may be readable only once.
        own["cv"] = list_splits(classifier.cv, given, data, data.kept)
    own["memory_limit"] = limit_for_each(data, find_resources(parameters.memory_limit))
    models = []
    for number, of_class in enumerate(class_against_rest(data)):
        log(classifier.verbose >= 1, "%s against the rest", data.classes[number])
        own["checkpoint"] = checkpoint_of(classifier.checkpoint, number)
        binary = type(classifier)(**own)
        binary._fit_cells = classifier._fit_cells
        binary.fit(given.X, of_class, data.all_weights, given.groups)
        del binary._fit_cells
        models.append(binary.set_params(cv=classifier.cv, on_interrupt=classifier.on_interrupt))
        if binary.interrupted_:
            own["on_interrupt"] = "raise"  # the next Ctrl-C counts as the second
    return binary_results(tuple(models), data.classes, compares_scalings(parameters)) | input_results(data)
