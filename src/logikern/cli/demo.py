"""`logikern demo`: fit, compare and reload, offline, on data from scikit-learn."""

from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.messages import Messages

HELP = """
Fit a model to handwritten digits, compare it with scikit-learn classifiers, and write and reload it. Works offline.

Examples:

  logikern demo

Exit codes: 0 done, 1 error, 130 interrupted.
"""


@ends_cleanly
def demo() -> None:
    from logikern.cli import comparison

    comparison.show(Messages())


demo.__doc__ = HELP
