"""`logikern demo`: the whole job, offline, on data that scikit-learn bundles."""

from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.interruption import abort, interrupts_to
from logikern.cli.session.narration import Narrator

EXAMPLES = """
Run the main job offline: fit on handwritten digits, compare with scikit-learn, write and reload a model.

Examples:

  logikern demo

Exit codes: 0 done, 1 refused, 130 interrupted.
"""


@ends_cleanly
def demo() -> None:
    from logikern.cli import comparison

    with interrupts_to(abort):
        comparison.show(Narrator())


demo.__doc__ = EXAMPLES
