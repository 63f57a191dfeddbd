"""The events that a driver feeds to an engine, and the commands that the engine returns.

Each event has the time when it happened. A driver executes the commands in order.
"""

from attrs import frozen

from acp_proxy.base import system

STOP_SIGNALS = system.signals("SIGTERM", "SIGINT", "SIGHUP")
"""Signals that a client uses to stop its agent; an engine receives them as `EndOfInput`."""


@frozen
class Started:
    """The driver begins to read from the peer; earlier silence does not count as a stall."""

    at: int
    """The time in monotonic nanoseconds, as in every event."""


@frozen
class LineReceived:
    """The peer sent a line."""

    raw: bytes
    """The line without its newline."""
    at: int


@frozen
class PartReceived:
    """The peer sent bytes of an unfinished line. Only engines that play a client get this event."""

    size: int
    """How many bytes of the line came since the previous event."""
    at: int


@frozen
class EndOfInput:
    """The peer closed its output; no more lines will come."""

    at: int


@frozen
class Wakeup:
    """The time of a `WakeAt` has come; a driver may also send this event earlier."""

    at: int


@frozen
class WriteStalled:
    """The peer has read nothing during the stall timeout; nothing more can be sent."""

    at: int


Event = Started | LineReceived | PartReceived | EndOfInput | Wakeup | WriteStalled


@frozen
class Send:
    """Write a line to the peer. The bytes include the newline."""

    data: bytes
    seq: int | None = None
    """The number of the recorded frame; None for a message that was not recorded."""


@frozen
class WakeAt:
    """Request a `Wakeup` at a time; a new request replaces the earlier one."""

    at: int | None
    """The time in monotonic nanoseconds; None for no wakeup."""


@frozen
class Finish:
    """End the stream; nothing more will be sent."""


Command = Send | WakeAt | Finish
