"""The one converter that reads and writes our own values as JSON.

The metadata of a field decides its form. ``field(metadata={"json": "problems"})`` gives the name in
JSON if it differs from the field's name, and also includes a computed field in the JSON.
``{"optional": True}`` omits the field while it has its default value. ``{"hidden": True}`` always
omits it. The modules with such fields need not import this module, so they load without cattrs.
"""

from typing import Any

from attrs import fields, has
from cattrs import override
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn
from cattrs.preconf.json import make_converter

converter = make_converter()
"""Converts attrs values to plain JSON and back; never used for ACP frames."""


def _marked(cls: type) -> dict[str, Any]:
    """Returns the overrides for the fields whose metadata decide their form."""
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
