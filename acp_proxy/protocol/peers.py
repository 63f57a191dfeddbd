"""The two peers, the directions between them, and the streams that are recorded."""

from enum import StrEnum


class Stream(StrEnum):
    """One recorded stream of bytes."""

    TO_AGENT = "to-agent"
    TO_CLIENT = "to-client"
    STDERR = "stderr"


class Direction(StrEnum):
    """The direction of a message. An id needs a direction, since both peers number from 0."""

    TO_AGENT = "to-agent"
    TO_CLIENT = "to-client"

    @property
    def other(self) -> "Direction":
        """The opposite direction: that of an answer."""
        return _OTHER[self]


# Tables, because looking up an enum member takes as long as parsing a short message.
_OTHER = {
    Direction.TO_AGENT: Direction.TO_CLIENT,
    Direction.TO_CLIENT: Direction.TO_AGENT,
}
DIRECTIONS = {Stream.TO_AGENT: Direction.TO_AGENT, Stream.TO_CLIENT: Direction.TO_CLIENT}
"""The directions of the streams that carry messages."""
SENDERS = {"to-agent": "client", "to-client": "agent"}
"""The sender in each direction."""
