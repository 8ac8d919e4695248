"""Mixed tables as parquet files: their splits, and what a method sees of them.

Every file of a folder is a set. The column `target` holds the label; all others are inputs: numbers, which may be
missing, and categories. Peers see a matrix, prepared as most people do it, or the frame itself.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from data import Split, folder

LABEL = "target"
TEST_SHARE = 0.3
LARGEST_TRAINING_SET = 3000


@dataclass(frozen=True, eq=False)
class Table:
    """Training and test rows of one set, as they are in the file.

    Parameters
    ----------
    name : str
    X, X_test : frames
    y, y_test : integer arrays of shape (n,) and (m,)
        Classes 0 .. C - 1, all of which occur in `y`.
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    def prepared(self) -> Split:
        """Numbers imputed by the median and standardised, categories one-hot, all learned on the training rows.

        A missing category is a category of its own; one that no training row has becomes zeros.
        """
        numbers = self.X.select_dtypes("number").columns
        categories = self.X.columns.difference(numbers, sort=False)
        transformer = make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()), numbers),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), categories),
        )
        X = transformer.fit_transform(self.X)
        return Split(self.name, X, self.y, transformer.transform(self.X_test), self.y_test)


def tables_folder() -> Path:
    """The mixed tables among the benchmark data."""
    return folder() / "tables"


def set_names(source: Path) -> list[str]:
    """Sets of a folder; without any, end the program with success."""
    names = sorted(file.stem for file in source.glob("*.parquet"))
    if not names:
        print(f"skipped: no *.parquet in {source}. Name a folder of tables by --folder, or set LOGIKERN_DATA.")
        sys.exit(0)
    return names


def read(source: Path, name: str, seed: int) -> Table:
    """The split of one seed: 30 % test rows and at most 3000 training rows, classes in proportion."""
    frame = pd.read_parquet(source / f"{name}.parquet")
    labels = frame.pop(LABEL).to_numpy()
    X, X_test, y, y_test = train_test_split(frame, labels, test_size=TEST_SHARE, random_state=seed, stratify=labels)
    if len(y) > LARGEST_TRAINING_SET:
        X, _, y, _ = train_test_split(X, y, train_size=LARGEST_TRAINING_SET, random_state=seed, stratify=y)
    return _with_dense_labels(Table(name, X, y, X_test, y_test))


def _with_dense_labels(table: Table) -> Table:
    """Classes as numbers; test rows of classes that no training row has are left out."""
    classes, y = np.unique(table.y, return_inverse=True)
    known = np.isin(table.y_test, classes)
    y_test = np.searchsorted(classes, table.y_test[known])
    return Table(table.name, table.X, y, table.X_test[known], y_test)
