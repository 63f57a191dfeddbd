"""The commands of an engine; its driver executes each command, in order, and adds nothing."""

from attrs import frozen


@frozen
class Send:
    """Write these bytes to the peer, a line's end included."""

    data: bytes
    seq: int | None = None
    """The number of the recorded frame; None for a message of the engine's own."""


@frozen
class WakeAt:
    """Feed a `Wakeup` when this moment has come, unless another event comes before.

    Each one replaces the one before.
    """

    at: int | None
    """Monotonic nanoseconds; None for no wakeup."""


@frozen
class Finish:
    """Nothing will be sent any more: end the stream."""


Command = Send | WakeAt | Finish
