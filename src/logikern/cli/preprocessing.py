"""Models of tables: the estimator encodes columns itself; with text it is the last step of a pipeline."""

from typing import Any

from sklearn.pipeline import Pipeline

from logikern.cli.reading.cells import POLICY
from logikern.cli.reading.columns import Roles, assign_roles
from logikern.encoding.encoder import Encoder
from logikern.estimators._inputs.transformer import TableEncoder

COLUMNS, CLASSIFIER, REGRESSOR = "columns", "classifier", "regressor"
TABLE, TEXT = "table", "text"
# Scale of numbers in a table with text, or for fixed hyperparameters; otherwise the search decides.
STANDARD = "standard"
# Settings of an estimator that gets numbers from other transformers.
PLAIN = {"categorical_features": "from_dtype", "inputs": "raw"}


def build_model(roles: Roles, unfitted: Any, n_rows: int) -> Any:
    """The estimator, or a pipeline that joins text with the other columns.

    The other columns are encoded with the `categorical_features` of the estimator.
    """
    if not roles.text:
        return unfitted
    from sklearn.base import is_regressor
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer

    steps: list[tuple[str, Any, Any]] = []
    others = list(roles.numeric + roles.categorical)
    if others:
        steps.append((TABLE, TableEncoder(unfitted.categorical_features, STANDARD), others))
    fewest = 1 if n_rows < POLICY.many_texts else 2
    for place, name in enumerate(roles.text):
        steps.append((f"{TEXT}_{place}", TfidfVectorizer(sublinear_tf=True, min_df=fewest), name))
    # Sparse products are faster only if most entries are zero.
    columns = ColumnTransformer(steps, sparse_threshold=0.1)
    last = REGRESSOR if is_regressor(unfitted) else CLASSIFIER
    return Pipeline([(COLUMNS, columns), (last, unfitted.set_params(**PLAIN))])


def encoder_of(model: Any) -> Encoder | None:
    """The encoder of named columns, in a classifier or before it; None without an encoder."""
    if not isinstance(model, Pipeline):
        encoder: Encoder | None = vars(model).get("encoder_")
        return encoder if encoder is not None and encoder.names is not None else None
    columns = _columns_of(model)
    fitted = {} if columns is None else columns.named_transformers_
    return fitted[TABLE].encoder_ if isinstance(fitted.get(TABLE), TableEncoder) else None


def roles_of(model: Any) -> Roles | None:
    """The roles of the columns; None for a model without names and for pipelines that `build_model` did not make."""
    encoder = encoder_of(model)
    if not isinstance(model, Pipeline):
        return None if encoder is None else assign_roles(encoder)
    columns = _columns_of(model)
    if columns is None:
        return None
    chosen = {name: chosen for name, _, chosen in columns.transformers}
    text = tuple(column for name, column in chosen.items() if name.startswith(TEXT))
    if not set(chosen) <= {TABLE, *(f"{TEXT}_{place}" for place in range(len(text)))}:
        return None
    return assign_roles(encoder, text)


def _columns_of(pipeline: Pipeline) -> Any:
    """The ColumnTransformer of `build_model`, or None."""
    from sklearn.compose import ColumnTransformer

    columns = pipeline.named_steps.get(COLUMNS)
    return columns if isinstance(columns, ColumnTransformer) else None


def final_step(model: Any) -> Any:
    """The estimator without its pipeline."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model
