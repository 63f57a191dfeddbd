"""The effects that a fault yields in place of a frame, and the outputs of the engine.

Values created for each frame are named tuples, which take half as long to create.
"""

from typing import NamedTuple

from attrs import frozen

from acp_proxy.protocol.peers import Direction

NS_PER_MS = 1_000_000


class DeliveryPiece(NamedTuple):
    """Bytes that go out in one write; `Delivery.schedule` sets the times.

    A piece without bytes writes nothing, but later pieces wait until it is due.
    """

    data: bytes
    after_ns: int = 0
    """The delay after the previous piece; for the first piece, after the frame was received."""
    takes_ns: int = 0
    """How long the write lasts; it starts when everything before this piece has gone out."""


class Delivery(NamedTuple):
    """Bytes that go out in place of a frame or beside it; without pieces, nothing goes out.

    Attributes:
        pieces: its parts, each in a separate write.
        behind_frames: how many later frames of its direction must come before the delivery goes
            out.
        until_cancel: whether it waits until its request or turn is cancelled.
        may_be_overtaken: whether later frames may go out before the delivery.
        is_injected: whether the delivery is a copy of the received frame or a made-up line.
        is_made_up: whether the delivery is a made-up line, which later rules do not change.
        by: the rule that injected the delivery; set by the engine.
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
        pieces = self.pieces
        return pieces[0].data if len(pieces) == 1 else b"".join(piece.data for piece in pieces)

    def with_data(self, data: bytes) -> "Delivery":
        """Returns the delivery with other bytes in one piece, due like its old first piece."""
        pieces = self.pieces
        after = pieces[0].after_ns if pieces else 0
        takes = sum([piece.takes_ns for piece in pieces])
        return Delivery(self.direction, (DeliveryPiece(data, after, takes),), *self[2:])

    def later(self, ns: int) -> "Delivery":
        """Returns the same delivery, delayed by some nanoseconds."""
        if not self.pieces:
            return self
        data, after, takes = self.pieces[0]
        first = DeliveryPiece(data, after + ns, takes)
        return Delivery(self.direction, (first, *self.pieces[1:]), *self[2:])

    def schedule(self, at: int, free_at: int) -> list[tuple[int, bytes]]:
        """Returns each piece with its due time.

        A piece is due ``after_ns`` after the previous piece, but not before everything ahead of it
        has gone out; then its write takes ``takes_ns``.

        Args:
            at: when the frame was received or released, monotonic nanoseconds.
            free_at: when everything ahead of the delivery in its direction has gone out.
        """
        due, last, moments = at, free_at, []
        for data, after_ns, takes_ns in self.pieces:
            due = last = max(due + after_ns, last) + takes_ns
            moments.append((due, data))
        return moments


def injected_line(direction: Direction, data: bytes) -> Delivery:
    """Returns the delivery of a line that neither peer sent.

    Args:
        direction: the direction of the line.
        data: the line, newline included.
    """
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
    """The agent gets a signal, after everything delivered before has gone out."""

    signum: int
    then_kill_after_ns: int | None = None
    """Nanoseconds after which the agent is killed if it is still running; None for never."""


@frozen
class ExitEffect:
    """The agent appears to exit, after everything delivered before has gone out."""

    code: int


@frozen
class StderrEffect:
    """The agent's stderr gets bytes."""

    data: bytes


SideEffect = StallEffect | CloseEffect | SignalEffect | ExitEffect | StderrEffect
"""The effects that are not lines."""
Effect = Delivery | SideEffect


class ScheduledWrite(NamedTuple):
    """Bytes for a peer with their due time; `faults.delivery_schedule` keeps the order.

    Attributes:
        due: when to write the bytes, monotonic nanoseconds.
        frame: the number of the frame that the bytes come from, counted from 1 as received.
        is_injected: whether the bytes are a made-up line or a copy of the frame.
        is_joinable: whether the bytes are a frame without faults, which may be joined with others.
    """

    direction: Direction
    data: bytes
    due: int
    frame: int = 0
    is_injected: bool = False
    is_joinable: bool = False


class Fired(NamedTuple):
    """The firing of a rule: one for each rule that changed a frame, and one for each injected line.

    Attributes:
        rule: the name of the rule.
        action: the kind of the rule.
        received: the line as it came, without its newline; None for an injected line.
        delivered: the bytes that go out in its place after all rules, newline included; None if
            nothing goes out.
        frame: the number of the frame that the rule fired at, counted from 1 as received.
        is_again: whether the rule had already stopped the direction.
        late_ns: the delay of the bytes since the frame was received; None if nothing goes out, or
            if they are held and the time is not known yet.
    """

    rule: str
    action: str
    direction: Direction
    received: bytes | None
    delivered: bytes | None
    frame: int = 0
    is_again: bool = False
    late_ns: int | None = None


@frozen
class RuleEffect:
    """A side effect of a rule; it comes after all other outputs for its frame.

    If the side effect closes a direction, a `DirectionEnd` comes next, unless the direction has
    already ended.
    """

    rule: str
    action: str
    effect: SideEffect


@frozen
class DirectionEnd:
    """The end of a direction: close it after everything decided before has gone out."""

    direction: Direction


Output = ScheduledWrite | Fired | RuleEffect | DirectionEnd
