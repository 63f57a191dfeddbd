"""Says what is wrong with a value that is not of its type, and which members are not in its type.

A validator finds out quickly that something is wrong; this says what. Of a union it looks into the
branch that the discriminator of the value chooses, so the answer is "content is missing" and not
"no branch fits". Types are those of `schema_derivation`; keywords that these do not use are left to
the validator.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import Any, Final

from attrs import field, frozen

from acp_proxy.conformance.closed_types import FREE_MEMBERS, META, lists_members
from acp_proxy.conformance.schema_derivation import NULL_IS_DEFAULT, Form, discriminator, named
from acp_proxy.conformance.simple_forms import (
    TYPES,
    is_allowed,
    is_in_range,
    is_of_type,
    range_of,
    shown,
    size_of,
    types_of,
)
from acp_proxy.protocol.json_text import pointer

ABSENT: Final = object()
"""In place of a value: there is none."""
MOST = 100
"""Problems that are named in one message, and members."""
_MOST_VALUES = 12
_PLAIN = {type_: {"type": name} for type_, name in TYPES.items()}
"""Forms that say no more than the type of a value."""
_Path = tuple[str, ...]


class Mismatch(StrEnum):
    """In which way a value is not of its type."""

    MISSING = "missing"
    """A required member."""
    TYPE = "type"
    """Another JSON type."""
    NULL = "null"
    """Null where the type has none, though receivers are to read it as the default."""
    VALUE = "value"
    """None of the allowed values."""
    TAG = "tag"
    """A closed union has no branch of that name."""
    RANGE = "range"
    """Too small, too large, too short or too long."""
    OTHER = "other"
    """Something that only a schema of the user's can ask for."""


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


@frozen
class Explainer:
    """Compares values with types."""

    types: Mapping[str, Form]
    _unions: dict[int, "_Union"] = field(factory=dict, init=False)

    def problems(self, form: Form, value: Any, at: _Path) -> list[SchemaProblem]:
        """Lists what is wrong, at most `MOST` places; nothing if the value is of the type.

        Args:
            form: the form of the type.
            value: the value.
            at: the path to it from the root of the message.
        """
        return [*islice(self._problems(form, value, at), MOST)]

    def extra(self, form: Form, value: Any, at: _Path) -> list[_Path]:
        """Lists the paths of members that no type names, at most `MOST`.

        Args:
            form: the form of the value's type.
            value: the value; may be of another type.
            at: the path to it from the root of the message.
        """
        return [*islice(self._extra(form, value, at, None), MOST)]

    def _problems(self, form: Form, value: Any, at: _Path) -> Iterator[SchemaProblem]:
        form = self._resolved(form)
        if "anyOf" in form or "oneOf" in form:
            yield from self._union(form, value, at)
            return
        for one in form.get("allOf", ()):
            yield from self._problems(one, value, at)
        if not is_of_type(form, value):
            is_default = value is None and form.get(NULL_IS_DEFAULT)
            kind = Mismatch.NULL if is_default else Mismatch.TYPE
            yield self._problem(form, value, at, kind)
        elif not is_allowed(form, value):
            yield self._problem(form, value, at, Mismatch.VALUE)
        elif not is_in_range(form, value):
            yield self._problem(form, value, at, Mismatch.RANGE)
        elif isinstance(value, dict):
            yield from self._members(form, value, at)
        elif isinstance(value, list) and isinstance(items := form.get("items"), dict):
            for index, one in enumerate(value):
                yield from self._problems(items, one, (*at, str(index)))

    def _members(self, form: Form, value: dict[str, Any], at: _Path) -> Iterator[SchemaProblem]:
        properties = form.get("properties", {})
        for name in form.get("required", ()):
            if name not in value:
                one = properties.get(name, {})
                yield self._problem(one, ABSENT, (*at, name), Mismatch.MISSING)
        others = form.get("additionalProperties")
        for name, one in value.items():
            its = properties.get(name, others)
            if isinstance(its, dict) and its != _PLAIN.get(type(one)):
                yield from self._problems(its, one, (*at, name))

    def _union(self, form: Form, value: Any, at: _Path) -> Iterator[SchemaProblem]:
        branches, problem = self._branches(form, value, at)
        if problem is not None:
            yield problem
            return
        found = [self.problems(one, value, at) for one in branches]
        fitting = found.count([])
        if fitting == 1 or (fitting and "anyOf" in form):
            return
        if fitting:
            yield self._problem(form, value, at, Mismatch.VALUE, "only one of its forms")
        elif missing := _alternatives(found):
            yield missing
        else:
            yield from min(found, key=len)

    def _branches(
        self, form: Form, value: Any, at: _Path
    ) -> tuple[list[Form], SchemaProblem | None]:
        """The branches of a union that a value may be meant as; none, if there is a problem."""
        union = self._read(form)
        if isinstance(value, dict):
            given = value.get(union.tag, "") if union.tag else ""
            named_so = union.tagged.get(given) if isinstance(given, str) else None
            fitting = named_so or union.objects
        else:
            fitting = [one for one in union.branches if is_of_type(one, value)]
        if not fitting:
            given = value is None and any(one.get(NULL_IS_DEFAULT) for one in union.branches)
            kind = Mismatch.NULL if given else Mismatch.TYPE
            if all("enum" in one or "const" in one for one in union.branches):
                kind = Mismatch.VALUE
            return [], self._problem(form, value, at, kind)
        if not isinstance(value, dict):
            return fitting, None
        spare: list[Form] = []
        used: list[str] = []
        while len(fitting) > 1 and (tag := discriminator(fitting, used)) is not None:
            used.append(tag)
            given = value.get(tag, ABSENT)
            chosen = [one for one in fitting if _has_tag(one, tag, given)]
            untagged = [one for one in fitting if not _is_tagged(one, tag)]
            if not chosen and not any(_may_have(one, tag, given) for one in untagged):
                return [], self._tag_problem(fitting, given, (*at, tag), tag)
            spare += untagged if chosen else []
            fitting = chosen or untagged
        if spare and self.problems(fitting[0], value, at):
            fitting = fitting + [one for one in spare if not self.problems(one, value, at)]
        return fitting, None

    def _read(self, form: Form) -> "_Union":
        union = self._unions.get(id(form))
        if union is None or union.form is not form:
            union = self._unions[id(form)] = _Union.of(form, [*self._flat(form)])
        return union

    def _tag_problem(
        self, branches: Iterable[Form], value: Any, at: _Path, tag: str
    ) -> SchemaProblem:
        forms = [one["properties"][tag] for one in branches]
        if not all("const" in one for one in forms):
            forms = [one for one in forms if "const" not in one]  # the names of an open union
        form: Form = {"anyOf": forms}
        kind = Mismatch.TAG if isinstance(value, str) else Mismatch.TYPE
        return self._problem(form, value, at, Mismatch.MISSING if value is ABSENT else kind)

    def _extra(self, form: Form, value: Any, at: _Path, tag: str | None) -> Iterator[_Path]:
        form = self._resolved(form)
        if "anyOf" in form or "oneOf" in form:
            branches, _ = self._branches(form, value, at)
            own = form.get("discriminator", {}).get("propertyName")
            found = [[*islice(self._extra(one, value, at, own), MOST)] for one in branches]
            named = self._named_beside(form, value)
            for path in found[0] if len(found) == 1 else covered_by_all(found):
                if path[:-1] != at or path[-1] not in named:
                    yield path
        elif isinstance(value, dict):
            is_closed = lists_members(form)
            properties, others = form.get("properties", {}), form.get("additionalProperties")
            for name, one in value.items():
                its = properties.get(name, others)
                if its is None:
                    if is_closed and name != tag and name != META:
                        yield (*at, name)
                elif name == META or name in FREE_MEMBERS:
                    continue
                elif isinstance(one, dict | list) and isinstance(its, dict):
                    yield from self._extra(its, one, (*at, name), None)
        elif isinstance(value, list) and isinstance(items := form.get("items"), dict):
            for index, one in enumerate(value):
                yield from self._extra(items, one, (*at, str(index)), None)

    def _named_beside(self, form: Form, value: Any) -> set[str]:
        """The members of the branches of a union whose tags are those of a value, or null there."""
        names: set[str] = set()
        for one in self._read(form).objects if isinstance(value, dict) else ():
            properties = one.get("properties", {})
            tags = {name: its["const"] for name, its in properties.items() if "const" in its}
            if tags and all(value.get(name, tag) in (tag, None) for name, tag in tags.items()):
                names |= properties.keys() if None in map(value.get, tags) else set()
        return names

    def _resolved(self, form: Form) -> Form:
        while "$ref" in form:
            form = self.types[named(form["$ref"])]
        return form

    def _flat(self, form: Form) -> Iterator[Form]:
        """The branches of a union, without unions among them."""
        form = self._resolved(form)
        for branches in (form.get("anyOf"), form.get("oneOf")):
            for one in branches or ():
                yield from self._flat(one)
        if "anyOf" not in form and "oneOf" not in form:
            yield form

    def _problem(
        self, form: Form, value: Any, at: _Path, kind: Mismatch, expected: str | None = None
    ) -> SchemaProblem:
        found = size_of(value) if kind is Mismatch.RANGE else None
        found = found or shown(value, kind in (Mismatch.VALUE, Mismatch.TAG))
        return SchemaProblem(pointer(at), expected or self._described(form), found, kind)

    def _described(self, form: Form) -> str:
        words: dict[str, None] = {}
        for one in self._flat(form):
            values = one.get("enum", [one["const"]] if "const" in one else [])
            for value in values[:_MOST_VALUES]:
                words[shown(value, quoted=True)] = None
            if len(values) > _MOST_VALUES:
                words[f"one of {len(values) - _MOST_VALUES} others"] = None
            if not values:
                words |= dict.fromkeys(types_of(one) or ["a value"])
        several = [*words]
        text = " or ".join(filter(None, [", ".join(several[:-1]), several[-1]]))
        return text + range_of(form)


@frozen
class _Union:
    """What is asked of a union again and again."""

    form: Form
    branches: list[Form]
    objects: list[Form]
    tag: str | None
    tagged: dict[Any, list[Form]]
    """By the value of the tag, if each object requires one."""

    @classmethod
    def of(cls, form: Form, branches: list[Form]) -> "_Union":
        """Reads a union.

        Args:
            form: its form.
            branches: all of its branches.
        """
        objects = [one for one in branches if is_of_type(one, {})]
        tag = discriminator(objects)
        tagged: dict[Any, list[Form]] = {}
        if tag is not None and all(_is_tagged(one, tag) for one in objects):
            for one in objects:
                if "const" in one["properties"][tag]:
                    tagged.setdefault(one["properties"][tag]["const"], []).append(one)
        return cls(form, branches, objects, tag, tagged)


def covered_by_all(found: Sequence[Iterable[_Path]]) -> Iterator[_Path]:
    """Yields the paths that each list has, or has the beginning of.

    Args:
        found: the lists.
    """
    sets = [set(one) for one in found]
    for path in dict.fromkeys(path for one in found for path in one):
        beginnings = [path[:length] for length in range(1, len(path) + 1)]
        if all(not each.isdisjoint(beginnings) for each in sets):
            yield path


def _has_tag(form: Form, tag: str, value: Any) -> bool:
    """Whether a branch is the one of a tag, or the open one if no other is."""
    if not _is_tagged(form, tag) or not isinstance(value, str):
        return False
    own = form["properties"][tag]
    if "const" in own:
        return bool(own["const"] == value)
    return value not in own.get("not", {}).get("enum", ())


def _is_tagged(form: Form, tag: str) -> bool:
    """Whether a branch requires a tag."""
    own = form.get("properties", {}).get(tag, {})
    return tag in form.get("required", ()) and ("const" in own or own.get("type") == "string")


def _may_have(form: Form, tag: str, value: Any) -> bool:
    """Whether a branch without a tag allows a member of that name, or its absence."""
    own = form.get("properties", {}).get(tag, {})
    return tag not in form.get("required", ()) if value is ABSENT else is_of_type(own, value)


def _alternatives(found: Iterable[Sequence[SchemaProblem]]) -> SchemaProblem | None:
    """One problem in place of several of which one is to be solved: a member is missing."""
    missing = {one[0].pointer: one[0] for one in found if len(one) == 1}
    if len(missing) < 2 or {one.mismatch for one in missing.values()} != {Mismatch.MISSING}:
        return None
    place = next(iter(missing)).rpartition("/")[0]
    names = " or ".join(one.removeprefix(f"{place}/") for one in missing)
    return SchemaProblem(place or "/", f"member {names}", "neither", Mismatch.MISSING)
