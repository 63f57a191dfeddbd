"""Compares params and results with the types of a dialect.

`schemas/` has one JSON Schema for each dialect, which ``make schemas`` derives from all versions of
the official files: today's, stable and unstable, and those of former packages, by which programs of
their time are written. A value is right if each of its members is right in a version that has the
member. Types are closed, and written so that an error of the validator is about the one branch of a
union that was meant. So `jsonschema_rs`, imported with the first comparison, says all: what is
wrong, which members no version has, and which values of open types no version names.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import field, frozen

from acp_proxy.conformance.schema_problems import (
    ABSENT,
    Form,
    Mismatch,
    SchemaProblem,
    expected,
    shown,
    size_of,
    without_null,
)
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.protocol.json_text import pointer
from acp_proxy.protocol.peers import Direction

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

DIRECTORY = Path(__file__).parent / "schemas"
MOST = 100
"""Problems that are named in one message, members, and names."""
_MOST_ERRORS = 1_000
"""Errors of one message that are read, and items of a list: each takes microseconds."""
_DEEPEST = 200
"""Levels of a value; no type has that many."""
_HALVES = {0xD800 + at: 0xF0000 + at for at in range(0x800)}
"""For each half of a surrogate pair, which the validator cannot read, a private character."""
_WHOLE = {there: half for half, there in _HALVES.items()}
_NO_NAMES: Mapping[int, int] = {}


@frozen
class SchemaComparison:
    """What is found in the params or the result of a message; places are JSON pointers."""

    problems: list[SchemaProblem] = field(factory=list)
    extra: list[str] = field(factory=list)
    """The places of members that no version of the schema names."""
    unnamed: list[tuple[str, str]] = field(factory=list)
    """Values that the types leave open and no version names, each with its place before it."""

    @property
    def fits(self) -> bool:
        """Whether the value is of its type, and has no other members."""
        return not self.problems and not self.extra


class DialectSchema:
    """The types of the messages of a dialect.

    Args:
        text: a JSON Schema of an object that has a member for each params and each result.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    @cache
    def of_dialect(cls, dialect: str) -> "DialectSchema":
        """Returns the types of ``v1``, ``v2`` or ``draft-1.0``; the same object each time."""
        return cls((DIRECTORY / f"{dialect}.json").read_text("utf-8"))

    @cached_property
    def _validator(self) -> "Validator":
        from jsonschema_rs import Draft202012Validator

        return Draft202012Validator(self._text, offline=True)

    def load(self) -> None:
        """Compiles the types, which else the first comparison does."""
        self._validator.is_valid({})

    @cached_property
    def _schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = json.loads(self._text)
        return schema

    def knows(self, direction: Direction, method: str, is_result: bool = False) -> bool:
        """Whether a version of the schema has a method.

        Args:
            direction: which way the request or notification goes.
            method: its name.
            is_result: whether it has to have a result.
        """
        return _member(direction, method, is_result) in self._schema["properties"]

    def compare(
        self, direction: Direction, method: str, is_result: bool, value: Any
    ) -> SchemaComparison:
        """Compares a value with its type; nothing is wrong with those of an unknown method.

        Args:
            direction: which way the request or notification goes.
            method: its name.
            is_result: whether the value is its result, and not its params.
            value: the params or the result; null or `ABSENT` stand for one without members.
        """
        name = _member(direction, method, is_result)
        if value is None or value is ABSENT:
            return self._compare_nothing(name, value)
        try:
            if self._validator.is_valid({name: value}):
                return SchemaComparison()
            return self._explained(name, value, _NO_NAMES)
        except UnicodeEncodeError:
            return self._explained(name, value, _HALVES)

    def _explained(self, name: str, value: Any, names: Mapping[int, int]) -> SchemaComparison:
        found = SchemaComparison()
        for most, errors in ((_MOST_ERRORS, self._validator.iter_errors), (None, self._first)):
            whole = {name: _readable(value, _DEEPEST, names, most)}
            explainer = _Explainer(self._schema, whole, _WHOLE if names else _NO_NAMES)
            for error in islice(errors(whole), _MOST_ERRORS):
                explainer.take(error)
            found = explainer.result()
            if found != SchemaComparison():  # else it is wrong further behind in a list
                break
        return found

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
        found = "nothing" if value is ABSENT else "null"
        form = self._schema["properties"][name]
        return SchemaComparison([SchemaProblem(f"/{_part(name)}", expected(form), found, kind)])


class _Explainer:
    """Says in our words what the validator finds in one value.

    Args:
        schema: the schema.
        whole: an object whose only member is the value.
        names: characters that stand for others in it.
    """

    def __init__(self, schema: Form, whole: dict[str, Any], names: Mapping[int, int]) -> None:
        self._schema = schema
        self._whole = whole
        self._names = names
        self._problems: list[tuple[list[int], SchemaProblem]] = []
        self._extra: list[tuple[list[int], str]] = []
        self._unnamed: list[tuple[list[int], tuple[str, str]]] = []
        self._indexes: dict[int, dict[str, int]] = {}

    def result(self) -> SchemaComparison:
        """Returns what was found in the order of the message, first what an object lacks."""
        return SchemaComparison(
            _sorted(self._problems), _sorted(self._extra), _sorted(self._unnamed)
        )

    def take(self, error: "ValidationError") -> None:
        """Takes an error of the validator."""
        path, form = error.instance_path, self._form(error.schema_path[:-1])
        match error.kind.name:
            case "anyOf":
                self._take_union(error, form)
            case "required":
                self._add_missing(path, error.kind.as_dict()["property"], form)
            case "additionalProperties":
                for name in error.kind.as_dict()["unexpected"][:MOST]:
                    self._extra.append((self._order([*path, name]), self._place([*path, name])))
            case "enum" if "x-open" in form:
                value = self._value(path)
                if isinstance(value, str):
                    found = self._place(path), value.translate(self._names)
                    self._unnamed.append((self._order(path), found))
            case keyword:
                self._add_wrong(path, form, keyword)

    def _take_union(self, error: "ValidationError", form: Form) -> None:
        context = error.kind.as_dict()["context"]
        if any(one.keys() != {"required"} for one in form["anyOf"]):
            for inner in context[0]:
                self.take(inner)
            return
        path = error.instance_path
        missing = [[one.kind.as_dict()["property"] for one in branch] for branch in context]
        single = [names[0] for names in missing if len(names) == 1]
        if len(single) > 1:
            self._add(path, f"member {' or '.join(single)}", "neither", Mismatch.MISSING)
            return
        for name in min(missing, key=len):
            self._add_missing(path, name, form)

    def _add_missing(self, path: "_Path", name: str, form: Form) -> None:
        what = expected(form.get("properties", {}).get(name, {}))
        self._add([*path, name], what, "nothing", Mismatch.MISSING)

    def _add_wrong(self, path: "_Path", form: Form, keyword: str) -> None:
        value = self._value(path)
        if keyword != "type" and value is not None:
            form = without_null(form)
        size = size_of(value) if keyword[:3] in ("min", "max") else None
        found = size or shown(value, quoted=keyword in ("enum", "const"))
        is_default = value is None and "x-null" in form
        self._add(path, expected(form), found, Mismatch.NULL if is_default else Mismatch.WRONG)

    def _add(self, path: "_Path", what: str, found: str, kind: Mismatch) -> None:
        problem = SchemaProblem(self._place(path), what, found, kind)
        self._problems.append((self._order(path), problem))

    def _place(self, path: "_Path") -> str:
        steps = [_part(str(path[0])), *(str(one).translate(self._names) for one in path[1:])]
        return pointer(steps)

    def _value(self, path: "_Path") -> Any:
        value: Any = self._whole
        for step in path:
            value = value[step]
        return value

    def _form(self, path: "_Path") -> Form:
        form: Any = self._schema
        for step in path:
            form = form[step]
        return form  # type: ignore[no-any-return]

    def _order(self, path: "_Path") -> list[int]:
        """The place among all others; that of a member that is missing is the first."""
        order: list[int] = []
        value: Any = self._whole
        for step in path:
            if isinstance(step, int):
                order.append(step)
                value = value[step]
            else:
                index = self._indexes.get(id(value))
                if index is None:
                    index = self._indexes[id(value)] = {name: at for at, name in enumerate(value)}
                order.append(index.get(step, -1))
                value = value.get(step)
        return order


_Path = Sequence[str | int]
_Found = TypeVar("_Found")


def _sorted(found: list[tuple[list[int], _Found]]) -> list[_Found]:
    return [one for _, one in sorted(found, key=lambda one: one[0])[:MOST]]


def _member(direction: Direction, method: str, is_result: bool) -> str:
    """The name that params or a result have in a schema."""
    method = "initialize" if method in INITIALIZE else method  # "the same as for `initialize`"
    return f"{'result' if is_result else 'params'} {direction} {method}"


def _part(member: str) -> str:
    return member.partition(" ")[0]


def _readable(value: Any, deepest: int, names: Mapping[int, int], most: int | None) -> Any:
    """Returns a value that the validator can explain: it is not deep, and its lists are short.

    Args:
        value: the value.
        deepest: its levels that are kept.
        names: characters of its texts that others stand for.
        most: items of a list that are kept; None for all.
    """
    match value:
        case str() if names:
            return value.translate(names)
        case dict() | list() if not deepest:
            return type(value)()
        case dict():
            return {
                key.translate(names) if names else key: _readable(one, deepest - 1, names, most)
                for key, one in value.items()
            }
        case list():
            return [_readable(one, deepest - 1, names, most) for one in value[:most]]
    return value
