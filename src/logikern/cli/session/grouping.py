"""Groups of options: a command takes records, and the shell sees an option for each of their fields."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any


def with_single_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of its records, in the same order."""
    signature = inspect.signature(command)
    records: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }

    @functools.wraps(command)
    def called_by_typer(**given: Any) -> None:
        made = {
            name: record(**{field.name: given.pop(field.name) for field in fields(record)})
            for name, record in records.items()
        }
        command(**given, **made)

    single = [
        option
        for name, parameter in signature.parameters.items()
        for option in (_options_of(records[name]) if name in records else [parameter])
    ]
    return with_parameters(called_by_typer, single)


def with_parameters(command: Callable[..., None], parameters: list[inspect.Parameter]) -> Callable[..., None]:
    """The command with the parameters that typer should see in its signature and in its annotations."""
    by_keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    command.__signature__ = inspect.Signature(by_keyword)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _options_of(record: Any) -> list[inspect.Parameter]:
    default = record()
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=getattr(default, field.name), annotation=field.type
        )
        for field in fields(record)
    ]
