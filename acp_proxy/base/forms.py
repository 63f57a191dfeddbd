"""The one converter that reads and writes our own values as JSON.

A member whose name in JSON is another one says so, as does one that is computed:
``field(metadata={"json": "problems"})``; ``{"optional": True}`` leaves one out that has its
default. Values need not import this module for
that, and so begin without cattrs.
"""

from collections.abc import Callable
from typing import Any

from attrs import fields, has
from cattrs.gen import make_dict_unstructure_fn, override
from cattrs.preconf.json import make_converter

converter = make_converter()
"""attrs values to plain JSON and back; ACP frames never pass through it."""


def _marked(cls: type) -> dict[str, Any]:
    """Returns the metadata of members that have another name in JSON, or may be left out there."""
    if not has(cls):
        return {}
    return {
        field.name: field.metadata
        for field in fields(cls)
        if {*field.metadata} & {"json", "optional"}
    }


def _unstructure(cls: type) -> Callable[[Any], dict[str, Any]]:
    marks = {
        name: override(rename=mark.get("json"), omit_if_default=mark.get("optional"), omit=False)
        for name, mark in _marked(cls).items()
    }
    return make_dict_unstructure_fn(cls, converter, **marks)  # type: ignore[arg-type]


converter.register_unstructure_hook_factory(lambda cls: bool(_marked(cls)), _unstructure)
