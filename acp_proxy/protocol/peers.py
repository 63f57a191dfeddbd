"""The two peers, the directions between them, and the streams that are recorded."""

from enum import StrEnum


class Stream(StrEnum):
    """One recorded stream of bytes."""

    TO_AGENT = "to-agent"
    TO_CLIENT = "to-client"
    STDERR = "stderr"


class Direction(StrEnum):
    """Which way a message goes; both peers number their requests, so an id needs one of these."""

    TO_AGENT = "to-agent"
    TO_CLIENT = "to-client"

    @property
    def other(self) -> "Direction":
        """The way an answer goes."""
        return Direction.TO_CLIENT if self is Direction.TO_AGENT else Direction.TO_AGENT
