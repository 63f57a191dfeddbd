"""The events of an engine and its commands.

Each event has the time when it happened. A driver executes the commands in order.
"""

from attrs import frozen

from acp_proxy.base import system

STOP_SIGNALS = system.signals("SIGTERM", "SIGINT", "SIGHUP")
"""Signals that a client uses to stop its agent; an engine gets an `EndOfInput` for them."""


@frozen
class Started:
    """The peer can be read from now on; silence before this does not count."""

    at: int
    """Monotonic nanoseconds, as in every event."""


@frozen
class LineReceived:
    """The peer sent a line."""

    raw: bytes
    """The line without its newline."""
    at: int


@frozen
class PartReceived:
    """The peer sent bytes of an unfinished line; only a client's engine gets this event."""

    size: int
    """Bytes since the last event."""
    at: int


@frozen
class EndOfInput:
    """The peer closed its side; no more lines will come."""

    at: int


@frozen
class Wakeup:
    """A requested time has come, or time has passed."""

    at: int


@frozen
class WriteStalled:
    """The peer has not read for the stall timeout; nothing more can be sent."""

    at: int


Event = Started | LineReceived | PartReceived | EndOfInput | Wakeup | WriteStalled


@frozen
class Send:
    """Write these bytes to the peer, including the newline."""

    data: bytes
    seq: int | None = None
    """The number of the recorded frame; None for a message of the engine's own."""


@frozen
class WakeAt:
    """Feed a `Wakeup` at this time unless another event comes first; replaces earlier requests."""

    at: int | None
    """Monotonic nanoseconds; None for no wakeup."""


@frozen
class Finish:
    """End the stream; nothing more will be sent."""


Command = Send | WakeAt | Finish
