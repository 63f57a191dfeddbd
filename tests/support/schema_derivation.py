"""Simplifies the types of messages in an official schema file to a few forms.

The official files are JSON Schemas written by a generator: types refer to each other by `allOf`
of one reference, an object may have a union beside its properties, and the last branch of an open
union is what no other branch is. Here each type gets one of a few forms, which are JSON Schema too:

- a reference, ``{"$ref": "#/$defs/Name"}``, but never to a mere string or number;
- an object with ``properties`` and ``required``; ``additionalProperties`` where it may hold others;
- a union of such objects, each of them complete: nothing is required beside it;
- an ``enum``; of an open one, ``type`` and the known values as ``x-known``;
- whatever else the file says, without prose.

So the types of several versions can be merged member by member.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from attrs import field, frozen

from acp_proxy.protocol.jsonrpc import Direction

Form = dict[str, Any]
"""A type in one of the forms that the module describes."""
REFERENCE = "#/$defs/"
NULL_IS_DEFAULT = "x-deserialize-default-on-null"
"""Marks a member that a sender may not set to null; a receiver reads null as the default."""
_PROSE = frozenset(
    (
        *("$comment", "$id", "$schema", "contentEncoding", "contentMediaType", "default"),
        *("deprecated", "description", "discriminator", "examples", "format", "readOnly"),
        *("title", "unevaluatedProperties", "writeOnly"),
    )
)
"""Keywords of JSON Schema that are left out; `format` and encodings only inform."""
_DIRECTIONS = {
    "agent": (Direction.TO_AGENT,),
    "client": (Direction.TO_CLIENT,),
    "protocol": tuple(Direction),
    "proxy": tuple(Direction),
}
"""The directions of messages that a side receives; in a proxy chain, both peers may receive."""
_MESSAGES = {
    "AgentRequest": ("params", Direction.TO_CLIENT),
    "AgentNotification": ("params", Direction.TO_CLIENT),
    "AgentResponse": ("results", Direction.TO_AGENT),
    "ClientRequest": ("params", Direction.TO_AGENT),
    "ClientNotification": ("params", Direction.TO_AGENT),
    "ClientResponse": ("results", Direction.TO_CLIENT),
}
"""The messages of each union, and the direction of the message, or of a response's request."""


def derive(types: Mapping[str, Form]) -> dict[str, Any]:
    """Returns the types of a schema file, and the types of each method's params and result.

    ``params`` and ``results`` have the type of each method by the direction of the request;
    ``types`` has the named types to which these refer.

    Args:
        types: the ``$defs`` of an official schema file.
    """
    deriver = _Deriver(types)
    messages: dict[str, dict[str, dict[str, list[Form]]]] = {
        part: {str(direction): {} for direction in Direction} for part in ("params", "results")
    }
    for name, item in types.items():
        if "x-method" in item:
            part = "results" if name.endswith("Response") else "params"
            directions = {*_DIRECTIONS.get(item.get("x-side", ""), ())}
            directions |= {
                direction
                for union, (of, direction) in _MESSAGES.items()
                if of == part and _reference(name) in references(types.get(union))
            }
            for direction in directions:
                messages[part][direction].setdefault(item["x-method"], []).append(
                    {"$ref": _reference(name)}
                )
    tables = {
        part: {
            direction: {
                method: forms[0] if len(forms) == 1 else {"anyOf": forms}
                for method, forms in sorted(methods.items())
            }
            for direction, methods in sorted(table.items())
        }
        for part, table in messages.items()
    }
    forms = {name: deriver.form({"$ref": _reference(name)}, whole=True) for name in types}
    return {**tables, "types": {name: forms[name] for name in sorted(reachable(tables, forms))}}


def references(node: Any) -> Iterator[str]:
    """Yields each reference in a schema."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def reachable(node: Any, types: Mapping[str, Form]) -> set[str]:
    """Returns the names of all types to which a schema refers, also indirectly.

    Args:
        node: the schema.
        types: all types by their names.

    Raises:
        KeyError: a type is missing.
    """
    results: set[str] = set()
    waiting = [*references(node)]
    while waiting:
        name = named(waiting.pop())
        if name not in results:
            results.add(name)
            waiting += references(types[name])
    return results


def named(reference: str) -> str:
    """Returns the name of a type from a reference to it.

    Raises:
        KeyError: the reference is not to a named type.
    """
    if not reference.startswith(REFERENCE):
        raise KeyError(reference)
    return reference.removeprefix(REFERENCE)


def _reference(name: str) -> str:
    return REFERENCE + name


@frozen
class _Object:
    """One alternative of an object type: its members, and which of them are required."""

    properties: dict[str, Form] = field(factory=dict)
    required: tuple[str, ...] = ()
    open: bool = False
    """Whether the schema explicitly allows other members."""
    other: Form = field(factory=dict)
    """Other keywords of the schema, unchanged."""

    def __and__(self, other: "_Object") -> "_Object":
        properties = dict(self.properties)
        for name, form in other.properties.items():
            properties[name] = _both(properties[name], form) if name in properties else form
        return _Object(
            properties,
            tuple(dict.fromkeys(self.required + other.required)),
            self.open or other.open,
            {**self.other, **other.other},
        )

    def form(self) -> Form:
        form: Form = {"type": "object"}
        if self.properties:
            form["properties"] = self.properties
        if self.required:
            form["required"] = [*self.required]
        if self.open and self.properties:
            form["additionalProperties"] = True
        return form | self.other


def _union(objects: list[_Object]) -> Form:
    """Returns the form of an object that has one or several alternatives."""
    forms = [item.form() for item in objects]
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


class _Deriver:
    def __init__(self, types: Mapping[str, Form]) -> None:
        self._types = types
        self._forms: dict[str, Form] = {}
        self._within: list[str] = []

    def form(self, node: Any, *, whole: bool = False) -> Any:
        """Returns the form of a type; with ``whole``, a reference is replaced by its type."""
        if isinstance(node, bool):
            return {} if node else {"not": {}}
        kept = {
            key: value
            for key, value in node.items()
            if key not in _PROSE and (not key.startswith("x-") or key == NULL_IS_DEFAULT)
        }
        if len(kept) == 1:
            match kept:
                case {"$ref": str(reference)}:
                    return self._referred(reference, whole)
                case {"allOf": [one]} | {"anyOf": [one]} | {"oneOf": [one]}:
                    return self.form(one, whole=whole)
        if (values := _values(kept)) is not None:
            return values
        alternatives = self._alternatives(kept)
        return _union(alternatives) if alternatives else self._as_it_is(kept)

    def _referred(self, reference: str, whole: bool) -> Form:
        name = named(reference)
        if name in self._within:  # a type that is within itself
            return {"$ref": reference}
        form = self._forms.get(name)
        if form is None:
            self._within.append(name)
            form = self._forms[name] = self.form(self._types[name], whole=True)
            self._within.pop()
        if whole or not {"properties", "anyOf", "oneOf", "enum", "$ref", "items"} & form.keys():
            return form
        return {"$ref": reference}

    def _as_it_is(self, node: Form) -> Form:
        form: Form = {}
        for key, value in node.items():
            match key, value:
                case "properties", dict():
                    form[key] = {name: self.form(item) for name, item in value.items()}
                case "anyOf" | "oneOf" | "allOf", list():
                    form[key] = [self.form(item) for item in value]
                case "additionalProperties", True:
                    pass  # says what holds anyway, where nothing is listed
                case _, dict():
                    form[key] = self.form(value)
                case _:
                    form[key] = value
        return form

    def _alternatives(self, node: Form) -> list[_Object] | None:
        """Returns all alternatives of an object type; None for other types and for maps."""
        match node:
            case {"$ref": str(reference), **rest} if not rest:
                name = named(reference)
                if name in self._within:
                    return None
                self._within.append(name)
                results = self._alternatives(self._types[name])
                self._within.pop()
                return results
        composed = {"allOf", "anyOf", "oneOf"} & node.keys()
        if node.get("type", "object" if composed else None) != "object":
            return None
        if composed and node.get("additionalProperties", True) is not True:
            return None
        objects = [self._own(node)]
        parts = [[branch] for branch in node.get("allOf", ())]
        parts += [node[key] for key in ("anyOf", "oneOf") if key in node]
        for branches in parts:
            every = [self._alternatives(branch) for branch in branches]
            if None in every:
                return None
            more = [branch for objects in every for branch in objects or ()]
            objects = [a & b for a, b in product(objects, more)]
        return objects

    def _own(self, node: Form) -> _Object:
        """Returns the members that an object type lists itself, without its parts."""
        properties = {
            name: self.form(member) for name, member in node.get("properties", {}).items()
        }
        others = node.get("additionalProperties")
        rest = {
            key: value
            for key, value in node.items()
            if key not in _PROSE
            and not key.startswith("x-")
            and key not in ("type", "properties", "required", "allOf", "anyOf", "oneOf", "not")
            and (key != "additionalProperties" or isinstance(others, dict) or others is False)
        }
        if "not" in node:
            tags = _tags(node["not"])
            if tags:
                name, values = tags
                properties[name] = properties.get(name, {}) | {"not": {"enum": values}}
            else:
                rest["not"] = node["not"]
        is_open = others is True or node.get("unevaluatedProperties") is True
        return _Object(properties, (*node.get("required", ()),), is_open, self._as_it_is(rest))


def _both(item: Form, other: Form) -> Form:
    """Returns the form of a value that must have two forms at once."""
    for wide, narrow in ((item, other), (other, item)):
        types = {*_listed(wide["type"])} if wide.keys() == {"type"} else set()
        if {*_listed("string" if "const" in narrow else narrow.get("type", "any"))} <= types:
            return narrow
    return item if item == other else {"allOf": [item, other]}


def _listed(types: Any) -> list[str]:
    return types if isinstance(types, list) else [types]


def _values(node: Form) -> Form | None:
    """Returns the form of a type that lists its possible texts; None for other types."""
    if isinstance(node.get("const"), str) and node.keys() <= {"type", "const"}:
        return {"const": node["const"]}
    if node.keys() not in ({"oneOf"}, {"anyOf"}):
        return None
    (branches,) = node.values()
    known, others = [], 0
    for branch in branches:
        kept = {key: value for key, value in branch.items() if key not in _PROSE}
        if isinstance(kept.get("const"), str) and kept.keys() <= {"type", "const"}:
            known.append(kept["const"])
        elif kept == {"type": "string"}:
            others += 1
        else:
            return None
    if not known:
        return None
    return {"type": "string", "x-known": known} if others else {"enum": known}


def _tags(node: Form) -> tuple[str, list[str]] | None:
    """Returns the member and the values that the last branch of an open union excludes."""
    results = []
    for item in node.get("anyOf", [node]):
        match item:
            case {"properties": dict(properties), "required": [str(name)]} if properties.keys() == {
                name
            } and isinstance(properties[name].get("const"), str):
                results.append((name, properties[name]["const"]))
            case _:
                return None
    names = {name for name, _ in results}
    return (names.pop(), [value for _, value in results]) if len(names) == 1 else None
