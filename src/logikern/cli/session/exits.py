"""Exit codes, and errors as one sentence instead of a traceback."""

import functools
import importlib.util
import inspect
import sys
from collections.abc import Callable
from enum import IntEnum
from traceback import walk_tb
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

# Libraries of the extras of a command, which a bare install lacks.
EXTRAS = {"rich": "cli", "pandas": "cli", "pyarrow": "cli", "matplotlib": "report", "jinja2": "report"}

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
            if isinstance(error, ImportError) and missing_extra(error):
                _end(f"error: {missing_extra(error)}", ExitCode.REFUSED)
            _end(
                f"error: unexpected {type(error).__name__}: {one_line(str(error))}. "
                "This is a bug. Please report it with the output of --traceback.",
                ExitCode.REFUSED,
            )

    return with_parameters(guarded, [*parameters, extra])


def missing_extra(error: ImportError) -> str:
    """What to install for a command whose libraries are missing; empty if something else is missing."""
    library = (error.name or "").partition(".")[0]
    if library in EXTRAS:
        return f"this command needs {library}. Install it with `pip install 'logikern[{EXTRAS[library]}]'`."
    return one_line(str(error)) if "logikern[" in str(error) else ""


def require_library(library: str) -> None:
    """Raise an ImportError if a library is missing, before any work."""
    if importlib.util.find_spec(library) is None:
        raise ModuleNotFoundError(f"No module named {library!r}", name=library)


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
    message = one_line(str(error)) or type(error).__name__
    if not _is_ours(error):
        return message
    from logikern.cli.session.wording import in_options

    return in_options(message)


def _is_ours(error: BaseException) -> bool:
    """Whether the library raised the error, not a command, which speaks of options and columns itself."""
    frames = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    return bool(frames) and frames[-1].startswith("logikern.") and not frames[-1].startswith("logikern.cli.")


def one_line(message: str) -> str:
    """The message with each run of white space replaced by a single blank."""
    return " ".join(message.split())


def _end(message: str, code: ExitCode) -> None:
    print(message, file=sys.stderr)
    raise typer.Exit(int(code))
