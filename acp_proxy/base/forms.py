"""The one converter that reads and writes our own values as JSON.

The metadata of an attrs field decides how the field is written:

- ``{"json": "problems"}`` sets the name of the field in JSON. A computed field is written only if
  it has this entry.
- ``{"optional": True}`` omits the field while it has its default value.
- ``{"hidden": True}`` always omits the field.

A module that only sets metadata does not import this module, and so loads without cattrs.
"""

from typing import Any

from attrs import fields, has
from cattrs import override
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn
from cattrs.preconf.json import make_converter

converter = make_converter()
"""Converts attrs values to plain JSON and back; never used for ACP frames."""


def _marked(cls: type) -> dict[str, Any]:
    """Returns a cattrs override for each field with metadata for JSON, by the field's name."""
    every = {field.name: field.metadata for field in (fields(cls) if has(cls) else ())}
    return {
        name: override(form.get("optional"), form.get("json"), omit="hidden" in form)
        for name, form in every.items()
        if {*form} & {"json", "optional", "hidden"}
    }


def _renamed(cls: type) -> dict[str, Any]:
    return {name: override(rename=mark.rename) for name, mark in _marked(cls).items()}


converter.register_unstructure_hook_factory(
    lambda cls: bool(_marked(cls)),
    lambda cls: make_dict_unstructure_fn(cls, converter, **_marked(cls)),
)
converter.register_structure_hook_factory(
    lambda cls: bool(_renamed(cls)),
    lambda cls: make_dict_structure_fn(cls, converter, **_renamed(cls)),
)
