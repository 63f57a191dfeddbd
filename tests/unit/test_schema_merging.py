"""The types of all versions of a schema become one, in which a validator explains itself."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from tests.schema_merging import merged

TEXT, NUMBER, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}


def thing(**properties: Any) -> dict[str, Any]:
    """The form of an object; a member whose name ends with an underscore may be missing."""
    return {
        "type": "object",
        "properties": {name.rstrip("_"): form for name, form in properties.items()},
        "required": [name for name in properties if not name.endswith("_")],
    }


def schema_of(*forms: dict[str, Any], **options: bool) -> Any:
    """The schema of the params of a method that has these forms in its versions."""
    versions = [
        {
            "params": {"to-agent": {"m": {"$ref": "#/$defs/M"}}},
            "results": {"to-agent": {}},
            "types": {"M": form},
        }
        for form in forms
    ]
    return merged(versions, **options)


def type_of(*forms: dict[str, Any], **options: bool) -> Any:
    """The merged type of such forms."""
    return schema_of(*forms, **options)["$defs"]["M"]


def wrong(schema: Any, value: Any) -> list[tuple[str, str]]:
    """What the validator finds in params: keywords, each with the place."""
    found = Draft202012Validator(schema).iter_errors({"params to-agent m": value})
    return [(one.kind.name, "/".join(map(str, one.instance_path[1:]))) for one in found]


def test_an_object_has_the_members_of_all_versions_and_is_closed() -> None:
    """Required is what each version requires, and metadata is allowed."""
    assert type_of(thing(a=TEXT, b=TEXT), thing(a=TEXT, b_=TEXT, c_=NUMBER)) == {
        "properties": {"a": TEXT, "b": TEXT, "c": NUMBER, "_meta": {}},
        "required": ["a"],
        "additionalProperties": False,
    }


def test_a_member_has_the_types_of_all_versions_that_have_it() -> None:
    """A version without the member does not make it free, but one with a free member does."""
    former = thing(a_={"enum": ["x"]}, b_={})
    found = type_of(
        thing(a_={"anyOf": [{"enum": ["y", "x"]}, NULL]}, b_=TEXT), former, thing(c_=TEXT)
    )
    assert found["properties"] == {"a": {"enum": ["y", "x", None]}, "b": {}, "c": TEXT, "_meta": {}}


def test_the_laxest_limit_holds() -> None:
    """A limit that one version lacks does not hold."""
    one, other = {**NUMBER, "minimum": 1, "maximum": 9}, {**NUMBER, "minimum": 0}
    assert type_of(thing(a_=one), thing(a_=other))["properties"]["a"] == {**NUMBER, "minimum": 0}


def test_what_is_free_is_not_closed() -> None:
    """An object without members, one that may have others, and the JSON Schema of a form."""
    free, open_ = {"type": "object"}, {**thing(a_=TEXT), "additionalProperties": True}
    form = thing(x_=TEXT)
    found = type_of(thing(a_=free, b_=open_, c_=form, requestedSchema_=form))
    closed = {"properties": {"x": TEXT, "_meta": {}}, "additionalProperties": False}
    assert found["properties"] == {
        "a": free,
        "b": {**free, "properties": {"a": TEXT}},
        "c": {**free, **closed},
        "requestedSchema": {**free, "properties": {"x": TEXT}},
        "_meta": {},
    }


def union(*branches: dict[str, Any]) -> dict[str, Any]:
    """The form of a union."""
    return {"anyOf": [*branches]}


def tagged(name: str, **properties: Any) -> dict[str, Any]:
    """A branch of a union that is told apart by its type."""
    return thing(type={"const": name}, **properties)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"type": "a", "x": "", "_meta": {}}, []),
        ({"type": "c", "x": ""}, []),
        ({"type": "a", "x": 1, "y": 1}, [("type", "x"), ("additionalProperties", "")]),
        ({"type": "b"}, [("required", "")]),
        ({"type": "d"}, [("enum", "type")]),
        ({}, [("required", "")]),
        (1, [("type", "")]),
    ],
)
def test_an_error_is_one_of_the_branch_that_is_meant(value: Any, told: list[Any]) -> None:
    """The branches are those of all versions."""
    schema = schema_of(union(tagged("a", x=TEXT), tagged("b", y=TEXT)), union(tagged("c", x=TEXT)))
    assert wrong(schema, value) == told


def test_an_open_union_takes_any_other_branch() -> None:
    """Its name is marked if names are; in a closed union of a former version it is known."""
    excluded = {**TEXT, "not": {"enum": ["a"]}}
    other = {**thing(type=excluded, y=NUMBER), "additionalProperties": True}
    versions = union(tagged("a", x=TEXT), other), union(tagged("b"))
    schema = schema_of(*versions)
    assert wrong(schema, {"type": "z", "y": 1, "any": 1}) == []
    assert wrong(schema, {"type": "z", "y": ""}) == [("type", "y")]
    assert wrong(schema, {"type": "b"}) == []
    found = type_of(*versions, names_values=True)
    assert found["properties"]["type"] == {**TEXT, "enum": ["a", "b"], "x-open": True}


def test_one_of_several_members_may_be_required() -> None:
    """Of a union without a tag."""
    schema = schema_of(union(thing(x=TEXT, n=TEXT), thing(y=NUMBER, n=TEXT)))
    assert wrong(schema, {"y": 1, "n": ""}) == []
    assert wrong(schema, {"x": 1, "n": ""}) == [("type", "x")]
    assert wrong(schema, {"n": ""}) == [("anyOf", "")]
    assert schema["$defs"]["M"]["anyOf"] == [{"required": ["x"]}, {"required": ["y"]}]


def test_a_branch_may_need_no_tag() -> None:
    """What has another's tag may be meant as it too, and the error is about the one meant first."""
    schema = schema_of(union(tagged("a", x=TEXT), thing(y=TEXT)))
    for right in (
        {"type": "a", "x": ""},
        {"y": ""},
        {"type": "other", "y": ""},
        {"type": "a", "y": ""},
    ):
        assert wrong(schema, right) == []
    assert wrong(schema, {"type": "other", "y": "", "x": ""}) == [("additionalProperties", "")]
    (error,) = Draft202012Validator(schema).iter_errors(
        {"params to-agent m": {"type": "a", "x": 1}}
    )
    assert [one.kind.name for one in error.kind.as_dict()["context"][0]] == ["type"]


def test_a_tag_may_be_null_or_missing_in_one_branch() -> None:
    """Then an error is about the branch of the tag, and never about several."""
    excluded = {**TEXT, "not": {"enum": ["a"]}}
    other = {**thing(type=excluded), "additionalProperties": True}
    schema = schema_of(union(tagged("a", x=TEXT), other, thing(type_=NULL, y_=TEXT)))
    for right in ({"type": "a", "x": ""}, {"type": "z", "any": 1}, {"type": None}, {"y": ""}):
        assert wrong(schema, right) == []
    assert wrong(schema, {"type": "a", "x": 1}) == [("type", "x")]
    assert wrong(schema, {"type": 1}) == [("type", "type")]
    assert wrong(schema, {"y": 1}) == [("type", "y")]


def test_a_type_may_be_within_itself() -> None:
    """It is referred to by its name."""
    schema = schema_of(thing(inner_={"$ref": "#/$defs/M"}))
    assert wrong(schema, {"inner": {"inner": {}}}) == []
    assert wrong(schema, {"inner": {"inner": 1}}) == [("type", "inner/inner")]


def test_null_that_readers_take_as_the_default_is_marked() -> None:
    """It is no value of the type all the same."""
    marked = {"type": "array", "items": TEXT, "x-deserialize-default-on-null": True}
    assert type_of(thing(a_=marked))["properties"]["a"]["x-null"] is True
