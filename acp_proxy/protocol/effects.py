"""The effect that each message of an agent has on a client.

A method that is not listed may have any effect. If its name begins with ``fs/``, it counts as a
change of files. If its name begins with ``terminal/``, it counts as a command. Planned methods of
the 1.0 draft have such names.
"""

from enum import StrEnum
from typing import NamedTuple

from acp_proxy.protocol.dialects import DRAFT, V1, V2


class ClientEffect(StrEnum):
    """The effect of a message on a client."""

    INFORMS = "informs"
    """Changes nothing and needs no answer."""
    ASKS = "asks"
    """Asks a person."""
    READS = "reads"
    """Reads files."""
    WRITES = "writes"
    """Changes files or directories."""
    RUNS = "runs"
    """Runs a command, or acts on a running command."""
    OTHER = "other"
    """Has another effect, or an unknown effect."""


class Row(NamedTuple):
    """The effect of a method, and the dialects that have the method."""

    effect: ClientEffect
    method: str
    dialects: tuple[str, ...]


_OFFICIAL = (V1, V2)

TABLE: tuple[Row, ...] = (
    Row(ClientEffect.INFORMS, "session/update", (V1, V2, DRAFT)),
    Row(ClientEffect.INFORMS, "elicitation/complete", _OFFICIAL),
    Row(ClientEffect.INFORMS, "$/cancel_request", _OFFICIAL),
    Row(ClientEffect.ASKS, "session/request_permission", (V1, V2, DRAFT)),
    Row(ClientEffect.ASKS, "elicitation/create", _OFFICIAL),
    Row(ClientEffect.READS, "fs/read_text_file", (V1, DRAFT)),
    Row(ClientEffect.WRITES, "fs/write_text_file", (V1, DRAFT)),
    Row(ClientEffect.RUNS, "terminal/create", (V1, DRAFT)),
    Row(ClientEffect.RUNS, "terminal/output", (V1,)),
    Row(ClientEffect.RUNS, "terminal/wait_for_exit", (V1, DRAFT)),
    Row(ClientEffect.RUNS, "terminal/kill", (V1, DRAFT)),
    Row(ClientEffect.RUNS, "terminal/release", (V1, DRAFT)),
    Row(ClientEffect.OTHER, "mcp/connect", _OFFICIAL),
    Row(ClientEffect.OTHER, "mcp/message", _OFFICIAL),
    Row(ClientEffect.OTHER, "mcp/disconnect", _OFFICIAL),
)
"""The methods of all requests and notifications that an agent may send."""

_BY_METHOD = {row.method: row for row in TABLE}
_BELOW = (("fs/", ClientEffect.WRITES), ("terminal/", ClientEffect.RUNS))


def effect_of(method: str | None, dialect: str | None = None) -> ClientEffect:
    """Returns the effect of a request or notification on the agent's client.

    Args:
        method: the method of the message.
        dialect: the dialect of the connection; None if it is unknown.
    """
    row = _BY_METHOD.get(method or "")
    if row is not None and (dialect is None or dialect in row.dialects):
        return row.effect
    below = (effect for start, effect in _BELOW if (method or "").startswith(start))
    return next(below, ClientEffect.OTHER)
