"""Compares params and results with the types of a dialect.

`schemas/` has one JSON Schema for each dialect. ``make schemas`` derives these schemas from the
current stable and unstable schemas of ACP, and from the schemas of earlier versions.

A value is right if any version allows it. Members that no version defines are reported separately.
If a value fits no branch of a union, the problem is reported for the branch that the sender
probably meant.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_proxy.base.limits import LONG_LIST
from acp_proxy.check.schema_problems import (
    ABSENT,
    Explainer,
    Mismatch,
    SchemaComparison,
    SchemaProblem,
    expected,
    place_of,
)
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.protocol.jsonrpc import Direction

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

DIRECTORY = Path(__file__).parent / "schemas"
_DEEPEST = 200
"""The largest number of nested levels of a value that are compared."""
_HALVES = {0xD800 + at: 0xF0000 + at for at in range(0x800)}
"""The replacements for halves of surrogate pairs, which the validator cannot read."""


class DialectSchema:
    """The types of the messages of a dialect.

    Args:
        text: a JSON Schema. It describes an object that has two members for each method: the params
            and the result.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    @cache
    def of_dialect(cls, dialect: str) -> "DialectSchema":
        """Returns the types of ``v1``, ``v2`` or ``draft-1.0``."""
        return cls((DIRECTORY / f"{dialect}.json").read_text("utf-8"))

    @cached_property
    def _validator(self) -> "Validator":
        from jsonschema_rs import Draft202012Validator

        return Draft202012Validator(self._text, offline=True)

    def load(self) -> None:
        """Compiles the types now, so that the first comparison is not slower than later ones."""
        self._validator.is_valid({})

    @cached_property
    def _schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = json.loads(self._text)
        return schema

    def knows(self, direction: Direction, method: str, is_result: bool = False) -> bool:
        """Whether any version of the schema defines a method.

        Args:
            direction: the direction of the request or notification.
            method: the name of the method.
            is_result: True to look for the type of the result, False for the type of the params.
        """
        return _member(direction, method, is_result) in self._schema["properties"]

    def compare(
        self, direction: Direction, method: str, is_result: bool, value: Any
    ) -> SchemaComparison:
        """Returns where a value does not match its type. An unknown method has no problems.

        Args:
            direction: the direction of the request or notification.
            method: the name of the method.
            is_result: True for a result, False for params.
            value: the params or the result. Null and `ABSENT` count as empty.
        """
        name = _member(direction, method, is_result)
        if value is None or value is ABSENT:
            return self._compare_nothing(name, value)
        try:
            if self._validator.is_valid({name: value}):
                return SchemaComparison()
            return self._explained(name, value, {})
        except UnicodeEncodeError:
            return self._explained(name, value, _HALVES)

    def _explained(self, name: str, value: Any, names: Mapping[int, int]) -> SchemaComparison:
        schema_comparison = SchemaComparison()
        for most, errors in ((LONG_LIST, self._validator.iter_errors), (None, self._first)):
            whole = {name: _readable(value, _DEEPEST, names, most)}
            explainer = Explainer(self._schema, whole, {new: old for old, new in names.items()})
            for error in islice(errors(whole), LONG_LIST):
                explainer.take(error)
            schema_comparison = explainer.result()
            if schema_comparison != SchemaComparison():  # else a cut item has the problem
                break
        return schema_comparison

    def _first(self, whole: dict[str, Any]) -> "Iterator[ValidationError]":
        from jsonschema_rs import ValidationError

        try:
            self._validator.validate(whole)
        except ValidationError as error:
            yield error

    def _compare_nothing(self, name: str, value: Any) -> SchemaComparison:
        if self._validator.is_valid({name: {}}):
            return SchemaComparison()
        kind = Mismatch.MISSING if value is ABSENT else Mismatch.WRONG
        got = "nothing" if value is ABSENT else "null"
        form = self._schema["properties"][name]
        return SchemaComparison([SchemaProblem(place_of([name]), expected(form), got, kind)])


def _member(direction: Direction, method: str, is_result: bool) -> str:
    """Returns the name, in a schema, of the params or the result of a method."""
    method = "initialize" if method in INITIALIZE else method  # "the same as for `initialize`"
    return f"{'result' if is_result else 'params'} {direction} {method}"


def _readable(value: Any, deepest: int, names: Mapping[int, int], most: int | None) -> Any:
    """Returns a copy of a value for the validator, with fewer levels and shorter lists.

    Args:
        value: the value.
        deepest: the largest number of levels in the copy.
        names: replacements for characters in strings.
        most: the largest number of items of a list in the copy; None for all.
    """
    match value:
        case str() if names:
            return value.translate(names)
        case dict() | list() if not deepest:
            return type(value)()
        case dict():
            return {
                key.translate(names) if names else key: _readable(inner, deepest - 1, names, most)
                for key, inner in value.items()
            }
        case list():
            return [_readable(inner, deepest - 1, names, most) for inner in value[:most]]
    return value
