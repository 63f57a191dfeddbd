"""The commands of an engine, which its driver executes in order."""

from attrs import frozen


@frozen
class Send:
    """Write these bytes to the peer, including the newline."""

    data: bytes
    seq: int | None = None
    """The number of the recorded frame; None for a message of the engine's own."""


@frozen
class WakeAt:
    """Feed a `Wakeup` at this moment, unless another event comes before; replaces earlier ones."""

    at: int | None
    """Monotonic nanoseconds; None for no wakeup."""


@frozen
class Finish:
    """End the stream; nothing more will be sent."""


Command = Send | WakeAt | Finish
