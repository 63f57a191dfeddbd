"""The effect that each message of an agent has on a client.

For a method that is not in the table, the beginning of the name decides: ``fs/`` counts as a change
of files, and ``terminal/`` as a command. Any other unknown method may have any effect.
"""

from enum import StrEnum

from acp_proxy.protocol.dialects import DRAFT, V1, V2


class ClientEffect(StrEnum):
    """The effect of a message on a client."""

    INFORMS = "informs"
    """The message changes nothing and needs no answer."""
    ASKS = "asks"
    """The client asks a person."""
    READS = "reads"
    """The client reads files."""
    WRITES = "writes"
    """The client changes files or directories."""
    RUNS = "runs"
    """The client runs a command, or acts on a running command."""
    OTHER = "other"
    """The message has an effect that is not in this list, or an unknown effect."""


_OFFICIAL = (V1, V2)

TABLE: dict[str, tuple[ClientEffect, tuple[str, ...]]] = {
    "session/update": (ClientEffect.INFORMS, (V1, V2, DRAFT)),
    "elicitation/complete": (ClientEffect.INFORMS, _OFFICIAL),
    "$/cancel_request": (ClientEffect.INFORMS, _OFFICIAL),
    "session/request_permission": (ClientEffect.ASKS, (V1, V2, DRAFT)),
    "elicitation/create": (ClientEffect.ASKS, _OFFICIAL),
    "fs/read_text_file": (ClientEffect.READS, (V1, DRAFT)),
    "fs/write_text_file": (ClientEffect.WRITES, (V1, DRAFT)),
    "terminal/create": (ClientEffect.RUNS, (V1, DRAFT)),
    "terminal/output": (ClientEffect.RUNS, (V1,)),
    "terminal/wait_for_exit": (ClientEffect.RUNS, (V1, DRAFT)),
    "terminal/kill": (ClientEffect.RUNS, (V1, DRAFT)),
    "terminal/release": (ClientEffect.RUNS, (V1, DRAFT)),
    "mcp/connect": (ClientEffect.OTHER, _OFFICIAL),
    "mcp/message": (ClientEffect.OTHER, _OFFICIAL),
    "mcp/disconnect": (ClientEffect.OTHER, _OFFICIAL),
}
"""For each request and notification that an agent may send: its effect, and the dialects that have
its method."""

_BELOW = (("fs/", ClientEffect.WRITES), ("terminal/", ClientEffect.RUNS))


def effect_of(method: str | None, dialect: str | None = None) -> ClientEffect:
    """Returns the effect of a request or notification on the agent's client.

    Args:
        method: the method of the message.
        dialect: the dialect of the connection; None if it is unknown.
    """
    effect, dialects = TABLE.get(method or "", (ClientEffect.OTHER, ()))
    if dialect in dialects or (dialects and dialect is None):
        return effect
    below = (effect for start, effect in _BELOW if (method or "").startswith(start))
    return next(below, ClientEffect.OTHER)
