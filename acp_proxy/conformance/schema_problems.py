"""Says in words what a place of a message should be, and what it is."""

import json
import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from attrs import frozen

from acp_proxy.wording import counted

Form = Mapping[str, Any]
"""What a schema says of one place."""
ABSENT: Final = object()
"""In place of a value: there is none."""
_LONGEST = 40
"""Characters of a text from a message that are quoted."""
_LARGEST = 10**20
"""Numbers beyond it are not quoted: they may have a million digits."""
_MOST_VALUES = 12
_TYPES: Mapping[type, str] = {
    type(None): "null",
    bool: "boolean",
    str: "string",
    int: "integer",
    list: "array",
    dict: "object",
}


class Mismatch(StrEnum):
    """In which way a value is not of its type."""

    MISSING = "missing"
    """A required member."""
    NULL = "null"
    """Null where the type has none, though receivers are to read it as the default."""
    WRONG = "wrong"
    """Another JSON type, none of the allowed values, or a size out of range."""


@frozen
class SchemaProblem:
    """One place of a message that is not as the schema says."""

    pointer: str
    """A JSON pointer from the root of the message; of what is missing, where it should be."""
    expected: str
    found: str
    """What there is, cut; never a long text."""
    mismatch: Mismatch

    def __str__(self) -> str:
        return f"{self.pointer}: expected {self.expected}, got {self.found}"


def expected(form: Form) -> str:
    """Returns the values that a form allows, or their JSON types.

    Args:
        form: what the schema says of the place.
    """
    if "enum" in form and "x-open" not in form:
        values = [shown(one, quoted=True) for one in form["enum"] if one is not None]
        several = values[:_MOST_VALUES]
        if len(values) > _MOST_VALUES:
            several.append(f"one of {len(values) - _MOST_VALUES} others")
        several += ["null"] if None in form["enum"] else []
    else:
        types = form.get("type", "a value")
        several = [types] if isinstance(types, str) else types
    text = " or ".join(filter(None, [", ".join(several[:-1]), several[-1]]))
    return text + _range(form)


def without_null(form: Form) -> Form:
    """Returns what a form allows beside null."""
    result = {**form}
    for name in ("enum", "type"):
        if isinstance(found := form.get(name), list):
            result[name] = [one for one in found if one not in (None, "null")]
    return result


def size_of(value: Any) -> str | None:
    """Returns the length of a string or list in words; None for anything else."""
    match value:
        case str():
            return counted(len(value), "character")
        case list():
            return counted(len(value), "item")
    return None


def shown(value: Any, quoted: bool) -> str:
    """Returns a value in a few words of printable ASCII.

    Args:
        value: the value.
        quoted: whether strings are quoted, and not only named.
    """
    match value:
        case str() if quoted:
            return json.dumps(value if len(value) <= _LONGEST else value[:_LONGEST] + "...")
        case None | bool():
            return json.dumps(value)
        case int() | float() if abs(value) < _LARGEST:  # false for what is not finite, too
            return json.dumps(value)
        case int() | float():
            return "NaN" if math.isnan(value) else "a number that is too large"
        case _:
            return _TYPES.get(type(value), "nothing")


def _range(form: Form) -> str:
    """The limits of a form in words; nothing if it has none."""
    for least, most, noun in (
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", "character"),
        ("minItems", "maxItems", "item"),
    ):
        match form.get(least), form.get(most):
            case None, None:
                continue
            case low, None:
                return f" of at least {_counted(low, noun)}"
            case None, high:
                return f" of at most {_counted(high, noun)}"
            case low, high:
                return f" from {low} to {_counted(high, noun)}"
    return ""


def _counted(count: Any, noun: str) -> str:
    return counted(count, noun) if noun else str(count)
