"""Types take few forms, whatever the schema file composes them of."""

from __future__ import annotations

from typing import Any

from tests.schema_derivation import derive

TEXT = {"type": "string", "description": "A text.", "title": "Text"}


def tagged(name: str, **more: Any) -> dict[str, Any]:
    """A branch of a union, as the official files have it."""
    tag = {"type": {"type": "string", "const": name}}
    return {"type": "object", "properties": tag, "required": ["type"], **more}


def form_of(node: dict[str, Any], **types: Any) -> Any:
    """The form of the params of a method."""
    first = {**node, "x-side": "agent", "x-method": "m"}
    return derive({"First": first, **types})["types"]["First"]


def test_a_reference_is_kept_but_not_to_a_mere_text() -> None:
    """And prose is dropped."""
    properties = {
        "id": {"description": "An id.", "allOf": [{"$ref": "#/$defs/Id"}]},
        "at": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "default": None},
    }
    place = {"type": "object", "properties": {"line": {"type": "integer", "format": "uint32"}}}
    request = {"type": "object", "properties": properties, "x-method": "m", "x-side": "agent"}
    derived = derive({"A": request, "Id": TEXT, "Place": place, "Other": place})
    assert derived["params"] == {"to-agent": {"m": {"$ref": "#/$defs/A"}}, "to-client": {}}
    assert derived["types"] == {
        "A": {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "at": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
            },
        },
        "Place": {"type": "object", "properties": {"line": {"type": "integer"}}},
    }


def test_each_branch_of_a_union_is_complete() -> None:
    """It has what is beside the union, and what it refers to."""
    node = {
        "type": "object",
        "properties": {"name": TEXT},
        "required": ["name"],
        "anyOf": [tagged("a", allOf=[{"$ref": "#/$defs/A"}]), tagged("b")],
    }
    a = {"type": "object", "properties": {"x": {}}, "required": ["x"]}
    assert form_of(node, A=a) == {
        "anyOf": [
            {
                "type": "object",
                "properties": {"name": {"type": "string"}, "type": {"const": "a"}, "x": {}},
                "required": ["name", "type", "x"],
            },
            {
                "type": "object",
                "properties": {"name": {"type": "string"}, "type": {"const": "b"}},
                "required": ["name", "type"],
            },
        ],
        "discriminator": {"propertyName": "type"},
    }


def test_the_last_branch_of_an_open_union_excludes_the_others() -> None:
    """By the values of the tag."""
    other = {
        "type": "object",
        "properties": {"type": TEXT},
        "required": ["type"],
        "not": {"anyOf": [tagged("a")]},
        "additionalProperties": True,
    }
    assert form_of({"anyOf": [tagged("a"), other]})["anyOf"][1] == {
        "type": "object",
        "properties": {"type": {"type": "string", "not": {"enum": ["a"]}}},
        "required": ["type"],
        "additionalProperties": True,
    }


def test_names_make_an_enum() -> None:
    """An open one is a text that keeps the known names."""
    names = [{"type": "string", "const": name, "description": "."} for name in ("a", "b")]
    assert form_of({"oneOf": names}) == {"enum": ["a", "b"]}
    assert form_of({"anyOf": [*names, TEXT]}) == {"type": "string", "x-known": ["a", "b"]}


def test_what_is_no_object_stays_as_it_is() -> None:
    """A union of lists, and keywords that are not known."""
    lists = {"anyOf": [{"type": "array", "items": TEXT}, {"type": "array", "maxItems": 0}]}
    assert form_of(lists) == {
        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "array", "maxItems": 0}]
    }
    node = {"type": "object", "patternProperties": {"^x": TEXT}, "minProperties": 1}
    assert form_of(node) == {**node, "patternProperties": {"^x": {"type": "string"}}}


def test_the_direction_is_that_of_the_side_and_of_the_unions_of_messages() -> None:
    """A method may go both ways; a response has the direction of its request."""
    request = {"type": "object", "x-side": "client", "x-method": "m"}
    types: dict[str, Any] = {
        "MRequest": request,
        "MResponse": request,
        "ClientRequest": {"anyOf": [{"$ref": "#/$defs/MRequest"}]},
        "PNotification": {**request, "x-side": "protocol", "x-method": "p"},
    }
    derived = derive(types)
    assert {way: [*methods] for way, methods in derived["params"].items()} == {
        "to-agent": ["m", "p"],
        "to-client": ["m", "p"],
    }
    assert derived["results"] == {"to-agent": {}, "to-client": {"m": {"$ref": "#/$defs/MResponse"}}}
