"""Merges the types of all versions of a schema into the types of a dialect.

A value is right if each of its members is right in some version that has the member. So the types
of all versions become one: an object has the members of each version, a member has the types of
each, and required is what all require. The result is written so that `jsonschema_rs` explains by
itself what is wrong:

- each place says its JSON ``type`` or its ``enum``; what is inside may be in a type of ``$defs``;
- a branch of a union is chosen by ``if`` and ``then``, so an error is one of that branch;
- where one of several members is required, ``anyOf`` has nothing but ``required``;
- where a branch may as well be another one, ``anyOf`` has the one that is meant first;
- an object is closed, as "Implementations MUST NOT add any custom fields at the root of a type
  that's part of the specification". Still free are values that have no type, maps,
  objects whose type lists no members, and the JSON Schema that a form of an elicitation is;
- ``x-open`` marks an ``enum`` that is only what is known, and ``x-null`` what receivers read as the
  default if it is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.schema_derivation import NULL_IS_DEFAULT, REFERENCE, Form, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

META = "_meta"
_FREE_MEMBERS = frozenset({"requestedSchema"})
"""Names of members whose values have a type but may have any members of JSON Schema."""
_LIMITS = {"minimum": min, "minLength": min, "minItems": min, "maximum": max, "maxLength": max}
"""For each kind of limit, the function that returns the widest of several limits."""
_KNOWN = frozenset(
    (
        *_LIMITS,
        *("type", "properties", "required", "additionalProperties", "items", "not", "enum"),
        *("const", "pattern", "x-known", NULL_IS_DEFAULT),
    )
)


def merged(versions: Sequence[Mapping[str, Any]], *, names_values: bool = False) -> dict[str, Any]:
    """Returns the types of a dialect, as one JSON Schema.

    The schema describes an object with a member for the params and the result of each method, for
    instance ``params to-agent session/new``.

    Args:
        versions: the results of `schema_derivation.derive` for each version, the current version
            first.
        names_values: whether an open type lists its known values, so that others are marked.
    """
    merger = _Merger([version["types"] for version in versions], names_values)
    properties: dict[str, Form] = {}
    for part, name in (("params", "params"), ("results", "result")):
        for direction in versions[0][part]:
            tables = [version[part][direction] for version in versions]
            for method in sorted({method for table in tables for method in table}):
                forms = [version[method] for version in tables if method in version]
                properties[f"{name} {direction} {method}"] = merger.place(forms, free=False)
    return {"properties": properties, "$defs": dict(sorted(merger.types.items()))}


class _Merger:
    def __init__(self, versions: Sequence[Mapping[str, Form]], names_values: bool) -> None:
        self.types: dict[str, Form] = {}
        self._versions = versions
        self._names_values = names_values

    def place(self, forms: Iterable[Form], free: bool) -> Form:
        """Returns the merged form of a place that has a form in each of several versions.

        Args:
            forms: the forms, the current version's first.
            free: whether objects at the place may have further members.
        """
        parts = [*self._parts(forms, None, set())]
        assert all(part.keys() <= _KNOWN for _, part in parts), parts
        if any(not {"type", "const", "enum"} & part.keys() for _, part in parts):
            return {}
        form = _plain([part for _, part in parts], self._names_values)
        if any(NULL_IS_DEFAULT in part for _, part in parts) and "null" not in form.get("type", ()):
            form["x-null"] = True
        inner = [(name, part) for name, part in parts if {"object", "array"} & {*_types(part)}]
        names = dict.fromkeys(name for name, _ in inner)
        if not inner:
            return form
        if None in names:
            return form | self._inside([part for _, part in inner], free)
        name = ("free." if free else "") + "_or_".join(sorted(map(str, names)))
        if name not in self.types:
            self.types[name] = {}  # a type may be within itself
            self.types[name] = self._inside([part for _, part in inner], free)
        return form | {"$ref": REFERENCE + name}

    def _parts(
        self, forms: Iterable[Form], name: str | None, within: set[str]
    ) -> Iterator[tuple[str | None, Form]]:
        """Yields the branches of all forms, each with the name of its type."""
        for form in forms:
            if "$ref" in form:
                inner = named(form["$ref"])
                if inner not in within:
                    within.add(inner)
                    every = [version[inner] for version in self._versions if inner in version]
                    yield from self._parts(every, inner, within)
            elif branches := form.get("anyOf") or form.get("oneOf"):
                yield from self._parts(branches, name, within)
            else:
                yield name, form

    def _inside(self, forms: Sequence[Form], free: bool) -> Form:
        arrays = [array for array in forms if "array" in _types(array)]
        objects = [array for array in forms if "object" in _types(array)]
        form: Form = self._object(objects, free, ()) if objects else {}
        if arrays and all("items" in array for array in arrays):
            form["items"] = self.place([array["items"] for array in arrays], free)
        return form | (_limits(arrays, "minItems") if arrays else {})

    def _object(self, objects: Sequence[Form], free: bool, used: tuple[str, ...]) -> Form:
        """Returns the merged form of several alternatives of an object.

        Args:
            objects: the alternatives.
            free: whether the object may have further members.
            used: the members that already distinguish the alternatives.
        """
        tag = _discriminator(objects, used)
        if tag is None:
            return self._whole(objects, free, used)
        tagged: dict[str, list[Form]] = {}
        others, untagged = [], []
        for item in objects:
            own = item.get("properties", {}).get(tag, {})
            if tag not in item.get("required", ()) or not {"const", "type"} & own.keys():
                untagged.append(item)
            elif "const" in own:
                tagged.setdefault(own["const"], []).append(item)
            else:
                others.append(item)
        if len(tagged) == 1 and not others and not untagged:
            return self._whole(objects, free, used)
        inner = (*used, tag)
        branches: list[tuple[list[str], Form]] = []
        for value, group in tagged.items():
            then = _without(self._object(group, free, inner), tag)
            same = next((values for values, form in branches if form == then), None)
            if same is None:
                branches.append(([value], then))
            else:
                same.append(value)
        other = _without(self._object(others, True, inner), tag) if others else None
        if not untagged:
            return self._by_tag(tag, objects, branches, other, None)
        siblings = [name for group in tagged.values() for item in group
                    for name in item["properties"]]  # fmt: skip
        whole = self._object(untagged, free, used)
        if all(_excludes(item.get("properties", {}).get(tag, {})) for item in untagged):
            return self._by_tag(tag, objects, branches, other, _knowing(whole, [tag, *siblings]))
        return _alternatives(tag, branches, other, whole, siblings)

    def _by_tag(
        self,
        tag: str,
        objects: Sequence[Form],
        branches: Sequence[tuple[list[str], Form]],
        other: Form | None,
        without: Form | None,
    ) -> Form:
        """Returns a union whose branch is selected by the value of one member, the tag.

        Args:
            tag: the name of the tag.
            objects: the alternatives.
            branches: values of the tag, and the form for these values.
            other: the form for other values of the tag; None if there are no other values.
            without: the form if the tag is missing or null; None if the tag is required.
        """
        values = [value for of, _ in branches for value in of]
        forms = [form["properties"][tag] for form in objects if tag in form.get("properties", ())]
        conditional = [{"if": _is(tag, of), "then": then} for of, then in branches]
        if other:
            unknown = {"type": "string", "not": {"enum": values}}
            conditional.append({"if": {"required": [tag], "properties": {tag: unknown}},
                                "then": other})  # fmt: skip
        if without is not None:
            conditional.append({"if": {"properties": {tag: {"type": "null"}}}, "then": without})
        required = {"required": [tag]} if without is None else {}
        named_so = [{**form, "x-known": values} if "not" in form else form for form in forms]
        own = self.place(named_so, True)
        return {"properties": {tag: own}, **required, "allOf": conditional}

    def _whole(self, objects: Sequence[Form], free: bool, used: tuple[str, ...]) -> Form:
        """Returns one object form that has the members of several."""
        form: Form = {}
        names = dict.fromkeys(name for other in objects for name in other.get("properties", ()))
        properties = {
            name: {}
            if name in used
            else self.place(
                [
                    other["properties"][name]
                    for other in objects
                    if name in other.get("properties", ())
                ],
                free or name in _FREE_MEMBERS,
            )
            for name in names
        }
        others = [other.get("additionalProperties") for other in objects]
        if all(isinstance(other, dict) for other in others):
            form["additionalProperties"] = self.place([*filter(None, others)], free)
        is_listed = all("properties" in other for other in objects) and others == [None] * len(
            objects
        )
        if is_listed and not free:
            properties.setdefault(META, {})
            form["additionalProperties"] = False
        if properties:
            form["properties"] = properties
        required = [[*other.get("required", ())] for other in objects]
        common = [other for other in required[0] if all(other in each for each in required)]
        if common:
            form["required"] = common
        rest = [[name for name in each if name not in common] for each in required]
        if all(rest):
            least: list[list[str]] = []
            for each in sorted(rest, key=len):
                if not any({*other} <= {*each} for other in least):
                    least.append(each)
            form["anyOf"] = [{"required": each} for each in rest if each in least]
            form["anyOf"] = [*{str(other): other for other in form["anyOf"]}.values()]
        return form


def _discriminator(objects: Iterable[Form], without: Iterable[str] = ()) -> str | None:
    """Returns the member whose constant distinguishes most alternatives; None without one.

    Args:
        objects: the forms of the objects.
        without: members that do not count.
    """
    counts: dict[str, int] = {}
    for item in objects:
        for name in item.get("required", ()):
            if "const" in item.get("properties", {}).get(name, ()) and name not in without:
                counts[name] = counts.get(name, 0) + 1
    return max(counts, key=counts.__getitem__, default=None)


def _alternatives(
    tag: str,
    branches: Sequence[tuple[list[str], Form]],
    other: Form | None,
    whole: Form,
    siblings: Iterable[str],
) -> Form:
    """Returns a union with an untagged object, whose form is allowed for any tag."""
    values = [value for of, _ in branches for value in of]
    beside = _knowing(whole, [tag, *siblings])
    conditional = [{"if": _is(tag, of), "then": {"anyOf": [then, beside]}} for of, then in branches]
    unknown = _knowing(whole, [tag])
    if other is not None:
        unknown = {"anyOf": [other, unknown]} if other else {}
    rest = unknown
    if unknown != beside:
        given: Form = {"required": [tag], "properties": {tag: {"not": {"type": "null"}}}}
        rest = {"if": given, "then": unknown, "else": beside}
    then = conditional[0]["then"] if len(conditional) == 1 else {"allOf": conditional}
    return {"if": _is(tag, values), "then": then, "else": rest}


def _excludes(form: Form) -> bool:
    """Whether a tag of this form never has a value that selects a branch."""
    return "not" in form or (bool(form) and "string" not in _types(form))


def _knowing(form: Form, names: Iterable[str]) -> Form:
    """Returns an object form that also allows the named members."""
    if form.get("additionalProperties") is not False:
        return form
    return {**form, "properties": {name: {} for name in names} | form["properties"]}


def _is(tag: str, values: Sequence[str]) -> Form:
    own: Form = {"const": values[0]} if len(values) == 1 else {"enum": [*values]}
    return {"required": [tag], "properties": {tag: own}}


def _without(form: Form, tag: str) -> Form:
    """Returns the form of a branch without its tag, which was already checked."""
    result = {**form}
    if tag in form.get("required", ()):
        result["required"] = [item for item in form["required"] if item != tag]
        if not result["required"]:
            del result["required"]
    if form.get("additionalProperties") is not False and form.get("properties", {}).get(tag) == {}:
        result["properties"] = {k: v for k, v in form["properties"].items() if k != tag}
        if not result["properties"]:
            del result["properties"]
    return result


def _plain(forms: Sequence[Form], names_values: bool) -> Form:
    """Returns the possible JSON types at a place, and the limits for texts and numbers."""
    types = [*dict.fromkeys(name for text in forms for name in _types(text))]
    texts = [text for text in forms if "string" in _types(text)]
    values = [*dict.fromkeys(value for text in texts for value in _values(text))]
    form: Form = {"type": types[0] if len(types) == 1 else types}
    if values and all(_values(text) for text in texts):
        is_open = any("x-known" in text for text in texts)
        none = [None] if "null" in types else []
        if not is_open:
            assert {*types} <= {"string", "null"}, forms
            return {"enum": [*values, *none]}
        if names_values:
            form |= {"enum": [*values, *none], "x-open": True}
    elif texts:
        form |= _limits(texts, "minLength", "maxLength", "pattern")
    numbers = [text for text in forms if {"integer", "number"} & {*_types(text)}]
    return form | (_limits(numbers, "minimum", "maximum") if numbers else {})


def _limits(forms: Sequence[Form], *names: str) -> Form:
    """Returns the widest of each limit, if all forms have the limit."""
    results: Form = {}
    for name in names:
        every = [form[name] for form in forms if name in form]
        if len(every) == len(forms):
            if name in _LIMITS:
                results[name] = _LIMITS[name](every)
            elif len({*every}) == 1:
                results[name] = every[0]
    return results


def _values(form: Form) -> list[str]:
    if "const" in form:
        return [form["const"]] if isinstance(form["const"], str) else []
    results: list[str] = form.get("enum") or form.get("x-known") or []
    return results


def _types(form: Form) -> list[str]:
    if "const" in form or "enum" in form:
        value = form["const"] if "const" in form else form["enum"][0]
        return ["string" if isinstance(value, str) else "integer"]
    types = form.get("type", [])
    return types if isinstance(types, list) else [types]
