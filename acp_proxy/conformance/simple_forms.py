"""Compares values with what a form says by itself, and says in words what both are.

What is inside of a value, and unions of forms, are compared in `schema_problems`.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from acp_proxy.conformance.schema_derivation import Form
from acp_proxy.wording import counted

_LONGEST = 40
"""Characters of a text from a message that are quoted."""
_LARGEST = 10**20
"""Numbers beyond it are not quoted: they may have a million digits."""
TYPES: Mapping[type, str] = {
    type(None): "null",
    bool: "boolean",
    str: "string",
    int: "integer",
    list: "array",
    dict: "object",
}


def types_of(form: Form) -> list[str]:
    """Returns the JSON types that a form allows; none for any."""
    types = form.get("type", [])
    return types if isinstance(types, list) else [types]


def is_of_type(form: Form, value: Any) -> bool:
    """Whether a value has one of the types that a form allows.

    Args:
        form: the form.
        value: the value.
    """
    if "const" in form or "enum" in form:
        allowed = [form["const"]] if "const" in form else form["enum"]
        return any(type_of(value) == type_of(one) for one in allowed)
    types = types_of(form)
    found = type_of(value)
    return not types or found in types or (found == "integer" and "number" in types)


def type_of(value: Any) -> str:
    """Returns the JSON type of a value; a number without a fraction is an integer."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return "no number"
        return "integer" if value.is_integer() else "number"
    return TYPES.get(type(value), "nothing")


def is_allowed(form: Form, value: Any) -> bool:
    """Whether a form allows a value of its type, and not only others.

    Args:
        form: the form.
        value: the value.
    """
    if "const" in form:
        return bool(value == form["const"])
    if "enum" in form:
        return value in form["enum"]
    return value not in form["not"]["enum"] if "enum" in form.get("not", ()) else True


def is_in_range(form: Form, value: Any) -> bool:
    """Whether a number, or the length of a value, is within the limits of a form.

    Args:
        form: the form.
        value: the value.
    """
    match value:
        case bool():
            return True
        case int() | float():
            least, most = form.get("minimum", value), form.get("maximum", value)
            return bool(least <= value <= most)
        case str():
            return bool(form.get("minLength", 0) <= len(value) <= form.get("maxLength", math.inf))
        case list():
            return bool(form.get("minItems", 0) <= len(value) <= form.get("maxItems", math.inf))
    return True


def range_of(form: Form) -> str:
    """Returns the limits of a form in words; nothing if it has none."""
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
        value: the value, or what stands in place of one.
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
            return "a number that is too large" if value == value else "NaN"
        case _:
            return type_of(value)
