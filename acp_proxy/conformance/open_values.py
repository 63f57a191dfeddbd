"""Finds values that a type leaves open and does not name: custom ones, or those of the future.

Of v2 most names are open: a receiver has to accept one that it does not know. Custom names begin
with an underscore; all others are reserved.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from acp_proxy.conformance.schema_derivation import Form, named, reachable

_Path = tuple[str, ...]
_MOST = 1_000
"""Items of a list, or members of a map, that are looked at."""


class OpenValues:
    """The open names of one schema.

    Args:
        types: its types by their names.
    """

    def __init__(self, types: Mapping[str, Form]) -> None:
        self._types = types
        self._open = {name for name, form in types.items() if _has_open(form)}
        self._open |= {name for name, form in types.items() if reachable(form, types) & self._open}

    def unnamed(self, form: Form, value: Any, path: _Path) -> Iterator[tuple[_Path, str]]:
        """Yields names that the type leaves open and does not have, with their places.

        Args:
            form: the type.
            value: a value, perhaps of another type.
            path: its place.
        """
        if reference := form.get("$ref"):
            name = named(reference)
            if name in self._open:
                yield from self.unnamed(self._types[name], value, path)
        elif isinstance(value, dict):
            for branch in self._branches(form):
                if _may_be(branch, value):
                    yield from self._members(branch, value, path)
        elif isinstance(value, list):
            for branch in self._branches(form):
                items = branch.get("items")
                for at, one in enumerate(value[:_MOST] if isinstance(items, dict) else ()):
                    yield from self.unnamed(branch["items"], one, (*path, str(at)))
        elif isinstance(value, str):
            known = [one["x-known"] for one in self._branches(form) if "x-known" in one]
            if known and not any(value in names for names in known):
                yield path, value

    def _members(
        self, branch: Form, value: dict[str, Any], path: _Path
    ) -> Iterator[tuple[_Path, str]]:
        properties: Mapping[str, Form] = branch.get("properties", {})
        for name, form in properties.items():
            inner = value.get(name)
            if inner is None:
                continue
            if isinstance(inner, str) and _excluded(form) is not None:
                yield (*path, name), inner  # it is none of the others, or this is not the branch
            else:
                yield from self.unnamed(form, inner, (*path, name))
        if isinstance(others := branch.get("additionalProperties"), dict):
            for name in [*value][:_MOST]:
                if name not in properties:
                    yield from self.unnamed(others, value[name], (*path, name))

    def _branches(self, form: Form) -> Iterator[Form]:
        """The types that a union is made of; of any other type itself."""
        if "$ref" in form:
            form = self._types[named(form["$ref"])]
        union = form.get("anyOf") or form.get("oneOf")
        if union is None:
            yield form
            return
        for one in union:
            yield from self._branches(one)


def _may_be(branch: Form, value: dict[str, Any]) -> bool:
    """Whether the tags of a value are those of a branch."""
    properties: Mapping[str, Form] = branch.get("properties", {})
    for name, form in properties.items():
        if "const" in form and value.get(name) != form["const"]:
            return False
        if (others := _excluded(form)) is not None:
            tag = value.get(name)
            if not isinstance(tag, str) or tag in others:
                return False
    return True


def _excluded(form: Form) -> Any:
    """The tags of the other branches, which the last one of an open union excludes."""
    negated = form.get("not")
    return negated.get("enum") if isinstance(negated, dict) else None


def _has_open(node: Any) -> bool:
    """Whether a type has an open name by itself."""
    if isinstance(node, dict):
        return "x-known" in node or "not" in node or any(map(_has_open, node.values()))
    return isinstance(node, list) and any(map(_has_open, node))
