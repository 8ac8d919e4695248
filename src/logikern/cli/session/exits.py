"""Exit codes, and errors as one sentence instead of a traceback."""

import functools
import inspect
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Annotated, Any

import typer

from logikern.cli.session.grouping import with_parameters, with_single_options


class ExitCode(IntEnum):
    """Exit codes of all commands."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    NOT_CONVERGED = 3
    INTERRUPTED = 130


class AbortedError(BaseException):
    """Ends the command at once; not an Exception or KeyboardInterrupt, which the library may catch."""


# The exceptions that the library raises for invalid data, settings or model files. Any other is a bug.
REFUSALS = (ValueError, TypeError, OSError, MemoryError)

TracebackOption = Annotated[
    bool,
    typer.Option(
        "--traceback", envvar="LOGIKERN_DEBUG", help="Show the full traceback of an error, for a bug report."
    ),
]


def ends_cleanly(command: Callable[..., None]) -> Callable[..., None]:
    """A command for typer, with `--traceback`, whose exceptions become a sentence and an exit code."""
    single = with_single_options(command)
    parameters = inspect.signature(single).parameters.values()
    extra = inspect.Parameter("traceback", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=TracebackOption)

    @functools.wraps(single)
    def guarded(traceback: bool = False, **given: Any) -> None:
        try:
            single(**given)
        except (KeyboardInterrupt, AbortedError):
            _end("interrupted; no result was written.", ExitCode.INTERRUPTED)
        except BrokenPipeError:
            raise  # the reader of standard output is gone; typer exits quietly
        except REFUSALS as error:
            if traceback:
                raise
            _end(f"error: {sentence(error)}", ExitCode.REFUSED)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as error:
            if traceback:
                raise
            _end(
                f"error: unexpected {type(error).__name__}: {one_line(str(error))}. "
                "This is a bug. Please report it with the output of --traceback.",
                ExitCode.REFUSED,
            )

    return with_parameters(guarded, [*parameters, extra])


def sentence(error: BaseException) -> str:
    """The error as one line for the user."""
    if isinstance(error, OSError) and error.strerror:
        name = f" `{error.filename}`" if error.filename else ""
        return f"cannot use{name}: {error.strerror}."
    if isinstance(error, MemoryError):
        return (
            f"not enough memory ({one_line(str(error)) or 'allocation failed'}). Pass `--memory-limit` or fewer rows."
        )
    from logikern.encoding.complaints import ColumnError

    if isinstance(error, ColumnError):
        from logikern.cli.reading.columns import complain

        return one_line(complain(error))
    return one_line(str(error)) or type(error).__name__


def one_line(message: str) -> str:
    """The message with each run of white space replaced by a single blank."""
    return " ".join(message.split())


def _end(message: str, code: ExitCode) -> None:
    print(message, file=sys.stderr)
    raise typer.Exit(int(code))
