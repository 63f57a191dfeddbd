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

from acp_proxy.conformance.schema_derivation import Form, NoSchema, derive
from acp_proxy.errors import BadSchema
from acp_proxy.plain_files import open_plain, reason
from acp_proxy.protocol.peers import Direction

DIRECTORY = Path(__file__).parent / "schemas"
_LARGEST_FILE = 32 * 2**20


@frozen
class MessageTypes:
    """The types of one schema."""

    source: str
    """The package or the file that it was derived from."""
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


def types_of_file(path: Path) -> MessageTypes:
    """Derives the types of an official schema file.

    Args:
        path: the file, such as ``schema.json`` of the protocol's repository.

    Raises:
        BadSchema: it cannot be read, or is something else.
    """
    try:
        with open_plain(path) as file:
            data = file.read(_LARGEST_FILE + 1)
    except OSError as e:
        raise BadSchema(path, reason(e)) from None
    if len(data) > _LARGEST_FILE:
        raise BadSchema(path, f"it is larger than {_LARGEST_FILE >> 20} MiB")
    try:
        return MessageTypes(**derived(data, str(path), ""))
    except NoSchema as e:
        raise BadSchema(path, str(e)) from None


def derived(data: bytes, source: str, version: str) -> dict[str, Any]:
    """Derives types from the bytes of a schema file, as the package keeps them.

    Args:
        data: the file.
        source: where it comes from.
        version: its version, if it has one.

    Raises:
        NoSchema: it is not a schema file of the protocol.
    """
    try:
        schema = json.loads(data)
    except (ValueError, RecursionError):
        raise NoSchema("it is not JSON") from None
    checksum = hashlib.sha256(data).hexdigest()
    return {"source": source, "version": version, "sha256": checksum, **derive(schema)}
