"""Reads the examples of the specifications in `tests/data/protocol`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from attrs import frozen

from acp_proxy.protocol.jsonrpc import Direction

ROOT = Path(__file__).parents[1] / "data" / "protocol"

_DIRECTIONS = {"client_to_agent": Direction.TO_AGENT, "agent_to_client": Direction.TO_CLIENT}


@frozen
class Example:
    """One message that a protocol document shows."""

    source: str
    """The document and the section."""
    direction: Direction
    kind: str
    method: str
    """For a response, the method of the request that it answers."""
    message: dict[str, Any]
    valid_v1_schema: bool | None = None
    """Whether the stable v1 schema accepts the message; None if it has no type for the message."""

    @property
    def raw(self) -> bytes:
        """Returns the message as one line."""
        return json.dumps(self.message, ensure_ascii=False).encode()


def official() -> list[Example]:
    """Returns the examples of the official protocol, version 1."""
    return [*_load("messages-official.jsonl")]


def draft() -> list[Example]:
    """Returns the examples of the 1.0 draft."""
    return [*_load("messages-seed004.jsonl")]


def schemas() -> list[Example]:
    """Returns hand-written messages that no protocol document contains."""
    return [*_load("messages-schemas.jsonl")]


@cache
def _load(name: str) -> tuple[Example, ...]:
    lines = map(json.loads, (ROOT / name).read_text(encoding="utf-8").splitlines())
    return tuple(
        Example(
            line["source"],
            _DIRECTIONS[line["direction"]],
            line["kind"],
            line["method"],
            line["message"],
            line.get("valid_v1_schema"),
        )
        for line in lines
    )
