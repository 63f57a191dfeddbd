"""Explains the errors of the schema validator in words: the expected and the actual value."""

import json
import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from attrs import field, frozen

from acp_proxy.base.wording import counted
from acp_proxy.protocol.json_text import pointer

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_Path = Sequence[str | int]
_Found = TypeVar("_Found")

Form = Mapping[str, Any]
"""The part of a schema for the value at one place."""
ABSENT: Final = object()
"""Stands for a missing value."""
MOST = 100
"""The largest length of each list about one message: problems, extra members, unlisted values."""
_LONGEST = 40
"""The largest number of characters that are quoted from a text in a message."""
_LARGEST = 10**20
"""The largest number that is quoted. Larger numbers may have a million digits."""
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
    """How a value fails to match its type."""

    MISSING = "missing"
    """A required member is missing."""
    NULL = "null"
    """A null that the type does not allow. Receivers must read this null as the default value."""
    WRONG = "wrong"
    """Another JSON type, a forbidden value, or a size out of range."""


@frozen
class SchemaProblem:
    """A place in a message that does not match the schema."""

    pointer: str
    """The JSON pointer of the value from the root of the message, or the place where a missing
    value belongs."""
    expected: str
    got: str
    """The actual value, shortened."""
    mismatch: Mismatch

    def __str__(self) -> str:
        return f"{self.pointer}: expected {self.expected}, got {self.got}"


@frozen
class SchemaComparison:
    """The problems in the params or the result of a message. Places are JSON pointers."""

    problems: list[SchemaProblem] = field(factory=list)
    extra: list[str] = field(factory=list)
    """The places of members that no version of the schema defines."""
    unnamed: list[tuple[str, str]] = field(factory=list)
    """Unlisted values, at places where the schema lists some values but allows others, too.
    Each pair is the JSON pointer and the value."""

    @property
    def fits(self) -> bool:
        """Whether the value matches its type and has no extra members."""
        return not self.problems and not self.extra


class Explainer:
    """Explains the errors that the validator found in one value.

    Args:
        schema: the schema.
        whole: an object whose only member is the value.
        names: for each replacement character, the original character, both as code points.
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
        """Returns the problems in the order of the message. Missing members come first."""
        return SchemaComparison(
            _sorted(self._problems), _sorted(self._extra), _sorted(self._unnamed)
        )

    def take(self, error: "ValidationError") -> None:
        """Adds the problems that one error of the validator describes."""
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
                    unnamed = self._place(path), value.translate(self._names)
                    self._unnamed.append((self._order(path), unnamed))
            case keyword:
                self._add_wrong(path, form, keyword)

    def _take_union(self, error: "ValidationError", form: Form) -> None:
        context = error.kind.as_dict()["context"]
        if any(branch.keys() != {"required"} for branch in form["anyOf"]):
            for inner in context[0]:
                self.take(inner)
            return
        path = error.instance_path
        missing = [[error.kind.as_dict()["property"] for error in branch] for branch in context]
        single = [names[0] for names in missing if len(names) == 1]
        if len(single) > 1:
            self._add(path, f"member {' or '.join(single)}", "neither", Mismatch.MISSING)
            return
        for name in min(missing, key=len):
            self._add_missing(path, name, form)

    def _add_missing(self, path: _Path, name: str, form: Form) -> None:
        what = expected(form.get("properties", {}).get(name, {}))
        self._add([*path, name], what, "nothing", Mismatch.MISSING)

    def _add_wrong(self, path: _Path, form: Form, keyword: str) -> None:
        value = self._value(path)
        if keyword != "type" and value is not None:
            form = without_null(form)
        size = size_of(value) if keyword[:3] in ("min", "max") else None
        got = size or shown(value, quoted=keyword in ("enum", "const"))
        is_default = value is None and "x-null" in form
        self._add(path, expected(form), got, Mismatch.NULL if is_default else Mismatch.WRONG)

    def _add(self, path: _Path, what: str, got: str, kind: Mismatch) -> None:
        problem = SchemaProblem(self._place(path), what, got, kind)
        self._problems.append((self._order(path), problem))

    def _place(self, path: _Path) -> str:
        return place_of(path).translate(self._names)

    def _value(self, path: _Path) -> Any:
        value: Any = self._whole
        for step in path:
            value = value[step]
        return value

    def _form(self, path: _Path) -> Form:
        form: Any = self._schema
        for step in path:
            form = form[step]
        return form  # type: ignore[no-any-return]

    def _order(self, path: _Path) -> list[int]:
        """Returns a key that sorts places in the order of the message, missing members first."""
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


def place_of(path: Sequence[str | int]) -> str:
    """Returns the JSON pointer of a value, from the root of its message.

    Args:
        path: the name that the schema gives to the params or the result; then the names and the
            positions that lead from there to the value.
    """
    part = str(path[0]).partition(" ")[0]
    return pointer([part, *map(str, path[1:])])


def expected(form: Form) -> str:
    """Returns in words what a schema allows: the listed values, or else the JSON types.

    Args:
        form: the schema of a value.
    """
    if "enum" in form and "x-open" not in form:
        values = [shown(allowed, quoted=True) for allowed in form["enum"] if allowed is not None]
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
    """Returns a copy of a schema, without null among the allowed values and types."""
    result = {**form}
    for name in ("enum", "type"):
        if isinstance(listed := form.get(name), list):
            result[name] = [entry for entry in listed if entry not in (None, "null")]
    return result


def size_of(value: Any) -> str | None:
    """Returns the length of a string or list in words; None for any other value."""
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
        quoted: whether strings are written in quotes. If not, only their type is named.
    """
    match value:
        case str() if quoted:
            return json.dumps(value if len(value) <= _LONGEST else value[:_LONGEST] + "...")
        case int() | float() if not abs(value) < _LARGEST:  # true for infinite numbers and NaN, too
            return "NaN" if math.isnan(value) else "a number that is too large"
        case None | int() | float():
            return json.dumps(value)
        case _:
            return _TYPES.get(type(value), "nothing")


def _range(form: Form) -> str:
    """Returns the limits of a value in words; empty for no limits."""
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


def _sorted(placed: list[tuple[list[int], _Found]]) -> list[_Found]:
    return [entry for _, entry in sorted(placed, key=lambda entry: entry[0])[:MOST]]
