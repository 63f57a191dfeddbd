"""What an engine asks for; whoever runs it executes each command, in order, and adds nothing."""

from attrs import frozen


@frozen
class Send:
    """Write these bytes to the peer, a line's end included."""

    data: bytes
    seq: int | None = None
    """The recorded frame that they come from; None for what the engine says itself."""


@frozen
class WakeAt:
    """Send a `Wakeup` when this moment has come, unless another event comes before.

    Each one replaces the one before; none means that no moment matters.
    """

    at: int | None


@frozen
class Finish:
    """Nothing will be sent any more: end the stream."""


Command = Send | WakeAt | Finish
