"""`logikern decide`: a model file and a table in, decisions with the smallest expected loss out."""

from logikern.cli import options
from logikern.cli.reading.sources import STANDARD, Reading
from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.messages import Messages

HELP = """
Choose the class with the smallest expected loss for every row, or reject the row.

`--loss` is a table with the cost of each error: one row per decision, named in the first column, and one column per
true class. Decisions need not be classes. On a class tree, `--loss` may also be zero_one, taxonomic or parent. With
`--reject-cost`, a row is rejected if every decision has a larger expected loss.

The output has the columns of `--keep`, then `decision` and `expected_loss`.

Examples:

  logikern decide loans.skops new.csv --loss costs.csv --out decisions.csv

  logikern decide loans.skops new.csv --reject-cost 0.1 --reject-label "ask a human"

Exit codes: 0 done, 1 invalid data or model, 2 wrong usage, 130 interrupted.
"""


@ends_cleanly
def decide(
    model: options.ModelArgument,
    data: options.DataArgument,
    rule: options.Rule = options.Rule(),
    out: options.TableOption = STANDARD,
    keep: options.KeepOption = None,
    reading: Reading = Reading(),
    messages: Messages = Messages(),
) -> None:
    from logikern.cli.models import load_classifier
    from logikern.cli.reading.inputs import KEEP, read_inputs
    from logikern.cli.reading.losses import check_loss
    from logikern.cli.writing.decisions import decided_rows
    from logikern.cli.writing.outputs import beside, require_table, write_table

    require_table(out)
    check_loss(rule.loss)
    loaded, keep = load_classifier(model, "decide"), list(dict.fromkeys(keep or ()))
    inputs = read_inputs(loaded, data, reading, dict.fromkeys(keep, KEEP))
    for note in inputs.notes:
        messages.info(note)
    table = decided_rows(loaded, inputs.X, rule)
    write_table(beside(inputs.table, keep, table), out)
    if rule.reject_cost is not None:
        messages.info(f"rejected {int((table['decision'] == rule.reject_label).sum())} of {len(table)} rows")
    messages.info(f"mean expected loss: {table['expected_loss'].mean():.4f}")
    if out != STANDARD:
        messages.info(f"wrote {len(table)} rows to {out}")


decide.__doc__ = HELP
