"""Checks params and results against the types of a dialect.

Official v1 and v2 have a stable and an unstable schema, and had others, by which programs of their
time are written; what fits one of them is right. No stable type of v1 was ever narrowed. Validators
are compiled when the first message of a method comes, and `jsonschema_rs` is imported then. They
say whether all is well; what is wrong is found out by `schema_problems`.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from acp_proxy.conformance.closed_types import closed
from acp_proxy.conformance.draft_types import DRAFT_TYPES
from acp_proxy.conformance.message_types import MessageTypes, packaged
from acp_proxy.conformance.open_values import OpenValues
from acp_proxy.conformance.schema_derivation import Form, reachable
from acp_proxy.conformance.schema_problems import (
    ABSENT,
    Explainer,
    Mismatch,
    SchemaProblem,
    covered_by_all,
)
from acp_proxy.protocol.dialects import DRAFT, INITIALIZE, V1, V2
from acp_proxy.protocol.json_text import pointer
from acp_proxy.protocol.peers import Direction

if TYPE_CHECKING:
    from jsonschema_rs import Validator

PACKAGED = {
    V1: ("v1", "v1-unstable", "v1-1.4.0", "v1-0.29.0", "v1-0.18.2"),
    V2: ("v2", "v2-unstable", "v2-1.4.0"),
}
"""Today's schemas, and those of former packages that had what was never stable and is gone today:
`models` of a session, `nes`, `mcp/connect`; and of v2, which is a draft, a laxer form."""


class SchemaSet:
    """The schemas of a dialect; a message is right if it fits one of them."""

    def __init__(self, *schemas: MessageTypes, closes: bool = True) -> None:
        """Takes schemas.

        Args:
            schemas: the first is the one whose problems are reported.
            closes: whether members that the types do not name are reported.
        """
        self._schemas = [_Schema(one) for one in schemas]
        self._closes = closes
        self._checks: dict[tuple[Direction, str, bool], tuple[_Check, ...]] = {}

    @classmethod
    @cache
    def of_dialect(cls, dialect: str) -> "SchemaSet":
        """Returns the schemas of a dialect: ``v1``, ``v2`` or ``draft-1.0``; the same each time."""
        if dialect == DRAFT:
            return cls(DRAFT_TYPES, closes=False)
        return cls(*map(packaged, PACKAGED[dialect]))

    def compile(self) -> None:
        """Compiles all validators at once, and not each when it is needed."""
        for schema in self._schemas:
            for is_result, tables in enumerate((schema.types.params, schema.types.results)):
                for direction, methods in tables.items():
                    for method in methods:
                        self._checks_of(Direction(direction), method, bool(is_result))

    def knows(self, direction: Direction, method: str) -> bool:
        """Whether a schema has a method.

        Args:
            direction: which way the request or notification goes.
            method: its name.
        """
        return bool(self._checks_of(direction, method, is_result=False))

    def is_stable(self, direction: Direction, method: str) -> bool:
        """Whether the first of the schemas has a method, and not only another one.

        Args:
            direction: which way the request or notification goes.
            method: its name.
        """
        return self._schemas[0].types.of(direction, method, False) is not None

    def params(self, direction: Direction, method: str, value: Any = ABSENT) -> list[SchemaProblem]:
        """Lists what is wrong with params; nothing for a method that no schema has.

        Args:
            direction: which way the request or notification goes.
            method: its name.
            value: the params, if it has some.
        """
        return self._problems(self._checks_of(direction, method, is_result=False), value)

    def result(self, direction: Direction, method: str, value: Any) -> list[SchemaProblem]:
        """Lists what is wrong with a result; null stands for a result without members.

        Args:
            direction: which way the request goes.
            method: its name.
            value: the result.
        """
        return self._problems(self._checks_of(direction, method, is_result=True), value)

    def extra(self, direction: Direction, method: str, is_result: bool, value: Any) -> list[str]:
        """Lists the JSON pointers of members that no schema names, from the root of the message.

        Args:
            direction: which way the request or notification goes.
            method: its name.
            is_result: whether the value is its result, and not its params.
            value: the params or the result; may be of another type than it should.
        """
        checks = self._checks_of(direction, method, is_result)
        if not self._closes or not checks or any(one.is_closed(value) for one in checks):
            return []
        paths = covered_by_all([one.extra(value) for one in checks])
        return [pointer(path) for path in paths]

    def fits(self, direction: Direction, method: str, is_result: bool, value: Any) -> bool:
        """Whether a value is of its type in one of the schemas, and has no members beside.

        Args:
            direction: which way the request or notification goes.
            method: its name.
            is_result: whether the value is its result, and not its params.
            value: the params or the result.
        """
        for check in self._checks_of(direction, method, is_result):
            if check.is_closed(value):
                return check.is_valid(value)
        return False

    def unnamed(
        self, direction: Direction, method: str, is_result: bool, value: Any
    ) -> list[tuple[str, str]]:
        """Lists the names that the types leave open and no schema has, each with its pointer.

        Args:
            direction: which way the request or notification goes.
            method: its name.
            is_result: whether the value is its result, and not its params.
            value: the params or the result.
        """
        found: dict[str, str] | None = None
        for check in self._checks_of(direction, method, is_result):
            of_one = check.unnamed(value)
            found = of_one if found is None else {k: found[k] for k in found if k in of_one}
            if not found:
                return []
        return [*(found or {}).items()]

    def _problems(self, checks: Sequence["_Check"], value: Any) -> list[SchemaProblem]:
        if not checks or any(one.is_valid(value) for one in checks):
            return []
        first = checks[0].problems(value)
        tags = _tags(first)
        for check in checks[1:] if tags else ():
            other = check.problems(value)
            if tags - _tags(other):
                return other  # it knows a branch that the first does not
        return first

    def _checks_of(
        self, direction: Direction, method: str, is_result: bool
    ) -> "tuple[_Check, ...]":
        key = direction, method, is_result
        checks = self._checks.get(key)
        if checks is None:
            same = (
                "initialize" if method in INITIALIZE else method
            )  # "the same as for `initialize`"
            found = (one.check(direction, same, is_result) for one in self._schemas)
            checks = tuple(one for one in found if one is not None)
            if checks:  # the names of unknown methods may be endless
                self._checks[key] = checks
        return checks


@define
class _Schema:
    types: MessageTypes
    _closed: dict[str, Form] | None = None
    _open: OpenValues | None = None

    def check(self, direction: Direction, method: str, is_result: bool) -> "_Check | None":
        form = self.types.of(direction, method, is_result)
        if form is None:
            return None
        if self._closed is None:
            self._closed = closed(self.types.types)
            self._open = OpenValues(self.types.types)
        return _Check(
            form,
            self._open or OpenValues(self.types.types),
            Explainer(self.types.types),
            ("result" if is_result else "params",),
            _compiled(form, self.types.types),
            _compiled(form, self._closed),
        )


@frozen
class _Check:
    """The check of one method's params or result against one schema."""

    _form: Form
    _open: OpenValues
    _explainer: Explainer
    _at: tuple[str, ...]
    _valid: "Validator"
    _closed: "Validator"
    _takes_nothing: bool = field(init=False)

    @_takes_nothing.default
    def _(self) -> bool:
        return bool(self._valid.is_valid({}))

    def is_valid(self, value: Any) -> bool:
        if value is None or value is ABSENT:
            return self._takes_nothing
        try:
            return bool(self._valid.is_valid(value))
        except ValueError:  # the name of a member has half of a surrogate pair
            return not self._explained(value)

    def is_closed(self, value: Any) -> bool:
        try:
            return value is None or value is ABSENT or bool(self._closed.is_valid(value))
        except ValueError:
            return False

    def problems(self, value: Any) -> list[SchemaProblem]:
        return self._explained(value) or [self._other(value)]

    def unnamed(self, value: Any) -> dict[str, str]:
        try:
            return {pointer(p): name for p, name in self._open.unnamed(self._form, value, self._at)}
        except RecursionError:
            return {}

    def extra(self, value: Any) -> list[tuple[str, ...]]:
        try:
            return self._explainer.extra(self._form, value, self._at)
        except RecursionError:
            return []

    def _explained(self, value: Any) -> list[SchemaProblem]:
        try:
            found = self._explainer.problems(self._form, value, self._at)
        except RecursionError:
            return []
        return (
            [evolve(one, mismatch=Mismatch.MISSING) for one in found] if value is ABSENT else found
        )

    def _other(self, value: Any) -> SchemaProblem:
        """What the validator says by itself."""
        try:
            error = next(self._valid.iter_errors(value))
        except (ValueError, StopIteration):
            return SchemaProblem(pointer(self._at), "its type", "another", Mismatch.OTHER)
        place = pointer((*self._at, *map(str, error.instance_path)))
        return SchemaProblem(place, f"what {error.kind.name} asks for", "another", Mismatch.OTHER)


def _tags(problems: Sequence[SchemaProblem]) -> set[str]:
    return {one.pointer for one in problems if one.mismatch is Mismatch.TAG}


def _compiled(form: Form, types: Mapping[str, Form]) -> "Validator":
    from jsonschema_rs import Draft202012Validator

    used = {name: types[name] for name in sorted(reachable(form, types))}
    return Draft202012Validator({**form, "$defs": used}, offline=True)
