"""What a fault yields in place of a frame, and what the engine makes of that for a driver.

Values that are made for each frame are named tuples, which take half as long to make.
"""

from typing import NamedTuple

from attrs import frozen

from acp_proxy.protocol.peers import Direction

NS_PER_MS = 1_000_000


class DeliveryPiece(NamedTuple):
    """Bytes that go out in one write; `Delivery.schedule` has the moments.

    A piece without bytes writes nothing, but what comes after it waits for its moment.
    """

    data: bytes
    after_ns: int = 0
    """How long after the piece before it; the first piece, after the frame was received."""
    takes_ns: int = 0
    """How long the write lasts; it begins when all before it in its direction has gone out."""


class Delivery(NamedTuple):
    """What goes out in place of a frame, or beside it; nothing at all if it has no pieces.

    Attributes:
        pieces: what it consists of, each written by itself.
        behind_frames: how many later frames of its direction come before it goes out.
        until_cancel: whether it waits until its request, or its turn, is cancelled.
        may_be_overtaken: whether frames after it do not wait until it has gone out.
        is_injected: whether it is not the frame that was received: a copy of it, or a line that
            was made up.
        is_made_up: whether it is no form of the frame, so that the rules after this one leave it
            alone.
        by: the rule that injected it; the engine fills it in.
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
        """Returns the same delivery with other bytes, in one piece, as late as its first was."""
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
        """Returns each piece with the moment at which it is due.

        A piece is due ``after_ns`` after the one before it, and not before everything ahead of it
        has gone out; from then on it takes ``takes_ns``.

        Args:
            at: when the frame was received, or released, monotonic nanoseconds.
            free_at: when everything ahead of it in its direction has gone out.
        """
        due, last, moments = at, free_at, []
        for data, after_ns, takes_ns in self.pieces:
            due = last = max(due + after_ns, last) + takes_ns
            moments.append((due, data))
        return moments


def injected_line(direction: Direction, data: bytes) -> Delivery:
    """Returns a line that neither peer has sent.

    Args:
        direction: where it goes.
        data: its bytes, newline included.
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
    """The agent gets a signal, once what was delivered before has gone out."""

    signum: int
    then_kill_after_ns: int | None = None
    """When to kill it if it is still there; None never."""


@frozen
class ExitEffect:
    """The agent appears to exit, once what was delivered before has gone out."""

    code: int


@frozen
class StderrEffect:
    """The agent's stderr gets bytes."""

    data: bytes


SideEffect = StallEffect | CloseEffect | SignalEffect | ExitEffect | StderrEffect
"""Everything that is not a line."""
Effect = Delivery | SideEffect


class ScheduledWrite(NamedTuple):
    """Bytes for a peer, due at a moment; `faults.delivery_schedule` has the order.

    Attributes:
        due: when, monotonic nanoseconds.
        frame: the number of the frame that they come from, counted from 1 as received.
        is_injected: whether they are no form of that frame, or a copy of it.
        is_joinable: whether they may be written together with other such bytes; they are a frame
            to which nothing has happened.
    """

    direction: Direction
    data: bytes
    due: int
    frame: int = 0
    is_injected: bool = False
    is_joinable: bool = False


class Fired(NamedTuple):
    """A rule fired. A frame has one for each rule, a line that was injected one of its own.

    Attributes:
        rule: its name.
        action: its kind.
        received: the line as it came, without its newline; None for one that was injected.
        delivered: the bytes that go out in its place when all rules have been applied, newline
            included; None if nothing does.
        frame: the number of the frame at which the rule fired, counted from 1 as received.
        is_again: whether the rule has stopped the direction before, so that nothing passes there.
        late_ns: how much later than the frame was received the bytes are due; None if nothing goes
            out, or if they are held and the moment is not known yet.
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
    """A side effect of a rule; it follows all that its frame has caused.

    If it closes a direction, the end of that direction follows, unless it has ended before.
    """

    rule: str
    action: str
    effect: SideEffect


@frozen
class DirectionEnd:
    """A direction ends: close it once what was decided before has gone out."""

    direction: Direction


Output = ScheduledWrite | Fired | RuleEffect | DirectionEnd
