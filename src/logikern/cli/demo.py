"""`logikern demo`: fit, compare and reload, offline, on data from scikit-learn."""

from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.messages import Messages

HELP = """
Fit handwritten digits, compare with classifiers of scikit-learn, and write and reload the model. Works offline.

Examples:

  logikern demo

Exit codes: 0 done, 1 error, 130 interrupted.
"""


@ends_cleanly
def demo() -> None:
    from logikern.cli import comparison

    comparison.show(Messages())


demo.__doc__ = HELP
