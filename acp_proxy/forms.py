"""The one converter that reads and writes our own values as JSON.

A member whose name in JSON is another one says so: ``field(metadata={"json": "problems"})``. Values
need not import this module for that, and so begin without cattrs.
"""

from collections.abc import Callable
from typing import Any

from attrs import fields, has
from cattrs.gen import make_dict_unstructure_fn, override
from cattrs.preconf.json import make_converter

converter = make_converter()
"""attrs values to plain JSON and back; ACP frames never pass through it."""


def _renamed(cls: type) -> dict[str, str]:
    """Returns the names in JSON of members that have another one there."""
    if not has(cls):
        return {}
    return {one.name: one.metadata["json"] for one in fields(cls) if "json" in one.metadata}


def _unstructure(cls: type) -> Callable[[Any], dict[str, Any]]:
    names = {name: override(rename=other) for name, other in _renamed(cls).items()}
    return make_dict_unstructure_fn(cls, converter, **names)  # type: ignore[arg-type]


converter.register_unstructure_hook_factory(lambda cls: bool(_renamed(cls)), _unstructure)
