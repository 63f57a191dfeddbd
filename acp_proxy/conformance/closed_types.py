"""Closes types: an object may have no members but those that its type names, and ``_meta``.

"Implementations MUST NOT add any custom fields at the root of a type that's part of the
specification" (Extensibility). What is free stays free: values that have no type, maps, objects
whose type lists no members, and the JSON Schema that a form of an elicitation is.
"""

from collections.abc import Mapping
from typing import Any

from acp_proxy.conformance.schema_derivation import REFERENCE, Form, named

META = "_meta"
FREE_MEMBERS = frozenset({"requestedSchema"})
"""Members whose values have types, but may hold whatever JSON Schema allows."""
_FREE = "free."


def closed(types: Mapping[str, Form]) -> dict[str, Form]:
    """Closes types that may refer to each other by name."""
    both = {name: _close(form) for name, form in types.items()}
    return both | {_FREE + name: _free(form) for name, form in types.items()}


def lists_members(form: Form) -> bool:
    """Whether a form names the members that an object may have."""
    return "properties" in form and "additionalProperties" not in form


def _close(form: Any, tag: str | None = None) -> Any:
    if isinstance(form, list):
        return [_close(one) for one in form]
    if not isinstance(form, dict):
        return form
    result = {key: value for key, value in form.items() if key != "discriminator"}
    inner = form.get("discriminator", {}).get("propertyName")
    for key, value in result.items():
        match key:
            case "properties":
                result[key] = {
                    name: _free(one) if name in FREE_MEMBERS else _close(one)
                    for name, one in value.items()
                }
            case "anyOf" | "oneOf" | "allOf":
                result[key] = [_close(one, inner) for one in value]
            case "items" | "additionalProperties":
                result[key] = _close(value)
    if lists_members(form):
        # Some types of stdio servers and ways to log in have no tag, where others have one.
        more: Form = {name: {} for name in (META, tag) if name and name not in result["properties"]}
        result["properties"] = result["properties"] | more
        result["additionalProperties"] = False
    return result


def _free(form: Any) -> Any:
    if isinstance(form, list):
        return [_free(one) for one in form]
    if not isinstance(form, dict):
        return form
    if isinstance(reference := form.get("$ref"), str):
        return {**form, "$ref": f"{REFERENCE}{_FREE}{named(reference)}"}
    return {key: _free(value) for key, value in form.items()}
