"""The types of messages: of each method, those of its params and its result.

`schemas/` has them as JSON, derived from the official schema files by ``make schemas``.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from attrs import frozen

from acp_proxy.conformance.schema_derivation import Form, derive
from acp_proxy.protocol.peers import Direction

DIRECTORY = Path(__file__).parent / "schemas"


@frozen
class MessageTypes:
    """The types of one schema."""

    source: str
    """The package and the file that it was derived from."""
    version: str
    sha256: str
    """The checksum of the original."""
    params: Mapping[str, Mapping[str, Form]]
    """By the direction of the message, and by its method."""
    results: Mapping[str, Mapping[str, Form]]
    """By the direction of the request, and by its method."""
    types: Mapping[str, Form]

    def of(self, direction: Direction, method: str, is_result: bool) -> Form | None:
        """Returns the type of a method's params or result; None if it has none.

        Args:
            direction: which way the request or notification goes.
            method: its name.
            is_result: whether the type of the result is meant.
        """
        return (self.results if is_result else self.params)[direction].get(method)


@cache
def packaged(name: str) -> MessageTypes:
    """Reads types that are part of the package, such as ``v1-unstable``."""
    return MessageTypes(**json.loads((DIRECTORY / f"{name}.json").read_bytes()))


def derived(data: bytes, source: str, version: str) -> dict[str, Any]:
    """Derives types from the bytes of an official schema file, as the package keeps them.

    Args:
        data: the file.
        source: where it comes from.
        version: its version.
    """
    checksum = hashlib.sha256(data).hexdigest()
    types = derive(json.loads(data)["$defs"])
    return {"source": source, "version": version, "sha256": checksum, **types}
