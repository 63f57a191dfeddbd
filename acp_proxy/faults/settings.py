"""Validators of the settings of faults; a wrong setting is refused with its name."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import attrs

Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]


class BadSetting(ValueError):
    """A setting has a value that is not valid.

    Attributes:
        name: the setting's.
        problem: what was expected, and what was given.
    """

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name
        self.problem = problem


def at_least(lowest: float, most: float | None = None) -> Validator:
    """Returns a validator of a number; it also takes None, for a setting that may be left out.

    Args:
        lowest: the smallest valid number.
        most: the largest; None for no limit.
    """

    def check(_: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if value is None or (value >= lowest and (most is None or value <= most)):
            return
        bounds = f"from {lowest:g} on" if most is None else f"from {lowest:g} to {most:g}"
        raise BadSetting(attribute.name, f"expected a number {bounds}, got {value:g}")

    return check


def one_line(_: Any, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    """Refuses a text with a newline in it.

    Args:
        _: the object that has the setting.
        attribute: the setting.
        value: its value.
    """
    if value is not None and "\n" in value:
        raise BadSetting(attribute.name, f"expected one line, got {value!r}")


def plain_json(_: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Refuses what JSON cannot express, such as the dates and infinities of TOML.

    Args:
        _: the object that has the setting.
        attribute: the setting.
        value: its value.
    """
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise BadSetting(attribute.name, f"expected what JSON can say, got {value!r}") from None
