"""What can happen to an engine; time comes with each event, from whoever runs the engine."""

import signal

from attrs import frozen

GOODBYES = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals by which a client takes its leave of an agent; to an engine they are an `EndOfInput`."""


@frozen
class LineReceived:
    """The peer sent a line."""

    raw: bytes
    """Without its newline."""
    at: int
    """Monotonic nanoseconds, as in every event."""


@frozen
class EndOfInput:
    """The peer closed its side; no line will come any more."""

    at: int


@frozen
class Wakeup:
    """A moment has come that was asked for, or perhaps only time has passed."""

    at: int


@frozen
class WriteStalled:
    """The peer has not read for as long as a stall takes; nothing more can be sent."""

    at: int


Event = LineReceived | EndOfInput | Wakeup | WriteStalled
