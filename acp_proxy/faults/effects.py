"""What a fault wants in place of a frame; values that the engine carries out."""

from attrs import evolve, frozen

from acp_proxy.protocol.peers import Direction

NS_PER_MS = 1_000_000


@frozen
class DeliveryPiece:
    """Bytes that go out together."""

    data: bytes
    after_ns: int = 0
    """How long after the piece before it, or after the frame was received if it is the first."""
    takes_ns: int = 0
    """How long it is on its way, after all that goes out before it in its direction."""


@frozen
class Delivery:
    """What goes out in place of a frame, or beside it; nothing at all if it has no pieces.

    Attributes:
        direction: where it goes.
        pieces: what it consists of; the receiver sees one line if they are one.
        behind_frames: how many later frames of its direction come before it goes out.
        until_cancel: whether it waits until its request, or its turn, is cancelled.
        may_be_overtaken: whether frames behind it need not wait for it.
        is_injected: whether it is not the frame that was received: a copy of it, or a line that
            was made up.
        is_made_up: whether it was made up, and is none of the business of the rules that follow.
        by: the rule that injected it; the engine says which.
    """

    direction: Direction
    pieces: tuple[DeliveryPiece, ...]
    behind_frames: int = 0
    until_cancel: bool = False
    may_be_overtaken: bool = False
    is_injected: bool = False
    is_made_up: bool = False
    by: str = ""

    @property
    def data(self) -> bytes:
        """All of its bytes."""
        return b"".join(piece.data for piece in self.pieces)

    def with_data(self, data: bytes) -> "Delivery":
        """The same delivery with other bytes, in one piece, as late as its first piece was."""
        after = self.pieces[0].after_ns if self.pieces else 0
        takes = sum(piece.takes_ns for piece in self.pieces)
        return evolve(self, pieces=(DeliveryPiece(data, after, takes),))

    def later(self, ns: int) -> "Delivery":
        """The same delivery, delayed."""
        if not self.pieces:
            return self
        first = self.pieces[0]
        return evolve(self, pieces=(evolve(first, after_ns=first.after_ns + ns), *self.pieces[1:]))


def injected_line(direction: Direction, data: bytes) -> Delivery:
    """A line that nobody has said."""
    return Delivery(direction, (DeliveryPiece(data),), is_injected=True, is_made_up=True)


@frozen
class StallEffect:
    """Nothing more passes in a direction; the pipe stays open."""

    direction: Direction


@frozen
class CloseEffect:
    """A direction ends."""

    direction: Direction


@frozen
class SignalEffect:
    """The agent gets a signal, once what was given before has gone out."""

    signum: int
    then_kill_after_ns: int | None = None
    """When to kill it if it is still there; None never."""


@frozen
class ExitEffect:
    """The agent appears to exit, once what was given before has gone out."""

    code: int


@frozen
class StderrEffect:
    """The agent's stderr gets bytes."""

    data: bytes


SideEffect = StallEffect | CloseEffect | SignalEffect | ExitEffect | StderrEffect
"""What is no line."""
Effect = Delivery | SideEffect
