"""Preprocessing as a scikit-learn pipeline, which is part of the model file."""

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from logikern.cli.reading.cells import POLICY
from logikern.cli.reading.columns import Roles

COLUMNS, CLASSIFIER = "columns", "classifier"
NUMERIC, CATEGORICAL, TEXT = "numeric", "categorical", "text"


def build_pipeline(roles: Roles, classifier: Any, n_rows: int) -> Pipeline:
    """A transformer for each role of columns, and `classifier` on the result.

    All types are scikit-learn's own, which model files support.
    """
    steps: list[tuple[str, Any, Any]] = []
    if roles.numeric:
        numeric = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        steps.append((NUMERIC, numeric, list(roles.numeric)))
    if roles.categorical:
        # A missing value is a level of its own; a level unseen in the fit becomes zeros.
        steps.append((CATEGORICAL, OneHotEncoder(handle_unknown="ignore"), list(roles.categorical)))
    fewest = 1 if n_rows < POLICY.many_texts else 2
    for place, name in enumerate(roles.text):
        steps.append((f"{TEXT}_{place}", TfidfVectorizer(sublinear_tf=True, min_df=fewest), name))
    # Sparse products are faster only if most entries are zero.
    columns = ColumnTransformer(steps, sparse_threshold=0.1)
    return Pipeline([(COLUMNS, columns), (CLASSIFIER, classifier)])


def roles_of(pipeline: Any) -> Roles | None:
    """The roles of the columns, or None for a pipeline that `build_pipeline` did not make."""
    if not isinstance(pipeline, Pipeline) or COLUMNS not in pipeline.named_steps:
        return None
    columns = pipeline.named_steps[COLUMNS]
    if not isinstance(columns, ColumnTransformer):
        return None
    chosen = {name: chosen for name, _, chosen in columns.transformers}
    text = tuple(column for name, column in chosen.items() if name.startswith(TEXT))
    if not set(chosen) <= {NUMERIC, CATEGORICAL, *(f"{TEXT}_{place}" for place in range(len(text)))}:
        return None
    return Roles(tuple(chosen.get(NUMERIC, ())), tuple(chosen.get(CATEGORICAL, ())), text)


def final_step(model: Any) -> Any:
    """The classifier without its pipeline."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model
