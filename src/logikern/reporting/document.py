"""The contents of a report, as values: `page` shows them."""

from dataclasses import dataclass, field
from typing import Any

from logikern.reporting.assessment import Assessment
from logikern.reporting.confusion import Matrix, TreeErrors


@dataclass(frozen=True, eq=False)
class Origin:
    """Where a model and its rows come from, as far as the caller knows."""

    target: str | None = None  # column of the classes
    data: str | None = None  # file of the rows
    model: str | None = None  # model file
    command: str | None = None  # that fitted the model
    versions: dict[str, Any] = field(default_factory=dict)  # of the libraries that wrote the model file
    first_row: int = 0  # number of the first row of a table
    rows: Any = None  # (n,): positions of the report's rows in their table; None if it has no others

    def number(self, row: int) -> int:
        """The number by which the reader knows a row of the report."""
        return self.first_row + (row if self.rows is None else int(self.rows[row]))


@dataclass(frozen=True)
class Table:
    """Rows of text and numbers below their headings."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Words:
    """What the page calls its cases."""

    sample: str = ""  # in place of the number of rows
    baseline: str = "the class shares of these rows"
    resampled: str = "rows"  # for intervals
    cases: str = "rows"  # of reliability and rejection
    about_cases: str = ""  # a sentence about them
    prediction: str = "predicted class"  # of a case
    truth: str = "true class"  # of a row


@dataclass(frozen=True, eq=False)
class Document:
    """Everything that a report shows. Figures are SVG; all other text is escaped by the page."""

    title: str
    facts: dict[str, Any]
    warnings: tuple[str, ...]
    assessment: Assessment | None
    figures: dict[str, str]
    matrix: Matrix | None
    tree: TreeErrors | None
    learned: str  # in words
    hyperparameters: Table
    relevance: Table | str  # a sentence if there is no table
    losses: Table | None
    suspects: Table | str | None
    cost: dict[str, Any]
    reproduction: dict[str, str]
    versions: dict[str, Any]
    labels: Table | None = None  # of rows with any number of labels
    words: Words = Words()
