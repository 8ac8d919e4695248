"""Errors, warnings and notes about a column, with advice."""

from dataclasses import dataclass

# Cause of an error -> what a user of Python can do about it.
ADVICE = {
    "nested": "Split the column, or drop it.",
    "complex": "Use real and imaginary parts as two columns.",
    "mixed": "Correct the values, or name the column in `categorical_features` if they are categories.",
    "mixed dates": "Convert all values to dates, or all to text.",
    "written dates": "Convert the column with `pd.to_datetime` (it is then measured in days), drop it, or name it in "
    "`categorical_features` if dates recur.",
    "text": "Leave `categorical_features` at 'from_dtype', or drop the column.",
    "infinite": "Correct the values, or mark them as missing.",
    "not numbers": "Correct the values, or mark them as missing.",
    "not truths": "Correct the values, or mark them as missing.",
    "not dates": "Convert the column with `pd.to_datetime`.",
}


class ColumnError(ValueError):
    """A column that cannot be encoded.

    Parameters
    ----------
    column : str
        Its name.
    cause : str
        A key of `ADVICE`.
    problem : str
        The problem, as the rest of a sentence that begins with the column.
    row : int or None, default=None
        The first row with the problem, counted from 0.
    rule : str, default=""
        What was expected of the argument; follows the row in the message, but is not part of `describe`.
    """

    def __init__(self, column: str, cause: str, problem: str, row: int | None = None, rule: str = "") -> None:
        self.column, self.cause, self.problem, self.row, self.rule = column, cause, problem, row, rule
        super().__init__(f"Column {self.describe()}{rule}. {ADVICE[cause]}")

    def describe(self, first: int = 0) -> str:
        """Column and problem, with rows counted from `first`."""
        where = "" if self.row is None else f" in row {self.row + first}"
        return f"`{self.column}` {self.problem}{where}"

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.column, self.cause, self.problem, self.row, self.rule)


class NestedValueError(ColumnError, TypeError):
    """A column that holds a list, a record or another container."""


class ColumnWarning(UserWarning):
    """A column that is probably not meant as an input, or not in its present form."""


# Cause of a note -> the rest of a sentence that begins with the column; `{count}` is the number in the note.
SENTENCES = {
    "empty": "is left out: all its values are missing.",
    "constant": "is left out: all its values are equal.",
    "alone": "is constant, and no other column varies: there is nothing to learn from.",
    "identifier": "is left out: almost all of its {count} values are distinct, so it looks like an identifier or "
    "prose. To use it, name it in `categorical_features` (categories), or turn it into numbers with TfidfVectorizer "
    "in a pipeline (prose). To avoid this warning, drop it from the table.",
    "index": "is left out: it looks like the index of a pandas frame. Rename it to use it.",
    "counter": "looks like an identifier: its {count} whole numbers are all distinct. Drop it if it does not help "
    "to predict the target.",
    "spelled": "holds numbers stored as text; they are treated as numbers. Convert them to numbers, or name the "
    "column in `categorical_features` if they are categories.",
    "pooled": "has {count} levels. The most frequent ones have one input each, and the others share one.",
}
DROPPING = ("empty", "constant", "identifier", "index")
WARNING = ("alone", "identifier", "index", "counter", "spelled")


@dataclass(frozen=True)
class Note:
    """Something that a user may want to know about a column."""

    place: int  # the column
    cause: str  # one of `SENTENCES`
    count: int = 0  # how many values it is about

    @property
    def drops(self) -> bool:
        """Whether the column is left out."""
        return self.cause in DROPPING

    @property
    def warns(self) -> bool:
        """Whether the user should be warned."""
        return self.cause in WARNING

    def tell(self, column: str) -> str:
        """The note as a sentence about the column of this name."""
        return f"Column `{column}` {SENTENCES[self.cause].format(count=self.count)}"
