"""The base class of all kinds of faults, the effects of faults, and the outputs of the engine.

Effects take the place of a frame. Values that are created for each frame are named tuples, since
attrs objects take twice the time.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

import attrs
from attrs import define, field, frozen

from acp_proxy.protocol.jsonrpc import Direction

NS_PER_MS = 1_000_000


class DeliveryPiece(NamedTuple):
    """Bytes that go out in one write. `Delivery.schedule` computes the time of the write.

    A piece without bytes is a delay: the pieces after it wait until it is due.
    """

    data: bytes
    after_ns: int = 0
    """The delay in nanoseconds after the previous piece; for the first piece, after the receipt or
    the release of the frame."""
    takes_ns: int = 0
    """How long the write lasts, in nanoseconds; the write starts when everything before this piece
    has gone out."""


class Delivery(NamedTuple):
    """The bytes that go out in place of a frame or beside it. Without pieces, nothing goes out.

    Attributes:
        pieces: the parts of the delivery, each in a separate write.
        behind_frames: how many later frames of the same direction must come before the delivery
            goes out.
        until_cancel: whether the delivery, a reply, waits until its request or turn is cancelled.
        may_be_overtaken: whether later frames may go out before the delivery.
        is_injected: False for the received frame; True for a copy of it, or for a made-up line.
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
        """All bytes of the delivery."""
        pieces = self.pieces
        return pieces[0].data if len(pieces) == 1 else b"".join(piece.data for piece in pieces)

    def with_data(self, data: bytes) -> "Delivery":
        """Returns the delivery with new bytes in one piece, due when the first piece was due."""
        pieces = self.pieces
        after = pieces[0].after_ns if pieces else 0
        takes = sum([piece.takes_ns for piece in pieces])
        return Delivery(self.direction, (DeliveryPiece(data, after, takes),), *self[2:])

    def later(self, ns: int) -> "Delivery":
        """Returns a copy of the delivery that is due some nanoseconds later."""
        if not self.pieces:
            return self
        data, after, takes = self.pieces[0]
        first = DeliveryPiece(data, after + ns, takes)
        return Delivery(self.direction, (first, *self.pieces[1:]), *self[2:])

    def schedule(self, at: int, free_at: int) -> list[tuple[int, bytes]]:
        """Returns the due time and the bytes of each piece.

        The write of a piece starts ``after_ns`` after the previous piece was due, but not before
        all bytes ahead of it have gone out. The piece is due ``takes_ns`` after this start.

        Args:
            at: when the frame was received or released, in monotonic nanoseconds.
            free_at: when all bytes ahead of the delivery in its direction have gone out.
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
    """The agent gets a signal, after everything that was delivered before has gone out."""

    signum: int
    then_kill_after_ns: int | None = None
    """Nanoseconds after which the agent is killed if it is still running; None for never."""


@frozen
class ExitEffect:
    """The agent appears to exit, after everything that was delivered before has gone out."""

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
        due: when to write the bytes, in monotonic nanoseconds.
        frame: the number of the frame that the bytes come from, counted from 1 as received.
        is_injected: False for the frame itself; True for a copy of it, or for a made-up line.
        is_joinable: whether the bytes are a frame without faults, which may be written together
            with other such frames.
    """

    direction: Direction
    data: bytes
    due: int
    frame: int = 0
    is_injected: bool = False
    is_joinable: bool = False


class Fired(NamedTuple):
    """Reports that a rule fired: the rule changed a frame or added a line.

    Attributes:
        rule: the name of the rule.
        action: the kind of the rule.
        received: the line as it was received, without its newline; None for an injected line.
        delivered: the bytes that go out in place of the line after all rules, with the newline;
            None if nothing goes out.
        frame: the number of the frame that the rule fired at, counted from 1 as received.
        is_again: whether the rule had already stopped the direction.
        late_ns: the delay of the bytes since the frame was received; None if nothing goes out, or
            if the time is not known yet.
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
    """A side effect of a rule. It comes after the bytes and the `Fired` values for its frame.

    If the side effect closes a direction that is still open, a `DirectionEnd` comes next.
    """

    rule: str
    action: str
    effect: SideEffect


@frozen
class DirectionEnd:
    """The end of a direction. It comes after all earlier bytes and side effects."""

    direction: Direction


Output = ScheduledWrite | Fired | RuleEffect | DirectionEnd


_BITS = 53  # the precision of a float


class Chance(NamedTuple):
    """The random numbers for one match of one rule.

    A number is ``H(seed, rule, scope, number of the match in the scope, what)``; `draw` gets
    ``what``. So a rule that is added to a plan does not change the faults of other rules, and the
    order of sessions does not matter.
    """

    seed: int
    rule: str
    scope: str
    """The counter scope of the match; see `faults.triggers`."""
    match: int
    """The number of the match in the scope, from 1."""

    def draw(self, what: str = "") -> float:
        """Returns a number from 0 to below 1. The same ``what`` gives the same number."""
        key = "\0".join((str(self.seed), self.rule, self.scope, str(self.match), what))
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return (int.from_bytes(digest) >> (64 - _BITS)) / (1 << _BITS)

    def below(self, limit: int, what: str = "") -> int:
        """Returns a whole number from 0 to below a limit.

        Args:
            limit: the returned number is smaller than this limit.
            what: the purpose of the number, as in `draw`.
        """
        return int(self.draw(what) * limit)

    def between(self, low: float, high: float) -> float:
        """Returns a number from ``low`` to below ``high``.

        Args:
            low: the smallest number.
            high: the returned number is smaller than this number.
        """
        return low + self.draw() * (high - low)


BOTH = (Direction.TO_AGENT, Direction.TO_CLIENT)
Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]


@define
class PassingFrame:
    """A frame on its way, or a copy of a frame, as a fault receives it.

    One object is reused for all rules and copies of a frame, since creating objects is slow.
    """

    direction: Direction
    row: dict[str, Any]
    """The properties of the frame, by the names of the columns of `frames`."""
    newline: bytes
    """The line ending of the frame."""
    total: int
    """The number of bytes that were received in this direction before the frame."""
    at: int
    """When the frame was received, in monotonic nanoseconds."""
    delivery: Delivery
    """The frame as changed by earlier rules; without pieces if an earlier rule dropped it."""
    state: Any = None
    """The value of `Fault.new_state` for this rule and direction."""
    chance: Chance = field(init=False)
    """The random numbers of this match. They are set for `apply`, but not for `fits`."""


class Fault(ABC):
    """One kind of fault. A kind is an attrs class whose fields are its settings.

    Attributes:
        kind: the name of the kind in a plan.
        outcome: what happens to a frame, as a phrase that follows "the frame". A setting's name in
            braces is replaced by its value.
        directions: the directions in which the kind can be used.
        has_side_effect: whether the kind does more than change the frame. If so, it also fires when
            earlier rules have dropped the frame.
        touches_both: whether the kind sends lines or waits for messages in the other direction. If
            so, both directions pass through the engine.
    """

    kind: ClassVar[str]
    outcome: ClassVar[str]
    directions: ClassVar[tuple[Direction, ...]] = BOTH
    has_side_effect: ClassVar[bool] = False
    touches_both: ClassVar[bool] = False

    def new_state(self) -> Any:
        """Returns the state that this kind keeps between frames, or None if it keeps no state.

        The engine calls this method once for each rule and direction of a connection. `apply`
        changes the state (`PassingFrame.state`) in place. A fault may depend only on the state, the
        frame and the random numbers of the match, so that equal frames give equal faults.
        """
        return None

    def fits(self, frame: PassingFrame) -> bool:  # noqa: ARG002
        """Whether this kind can change a frame. If not, the frame does not count as a match."""
        return True

    @abstractmethod
    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Returns the effects that replace a frame: `frame.delivery` alone if nothing changes."""

    def describe(self) -> str:
        """Returns `outcome`, in which the value of each setting replaces its name in braces."""
        return self.outcome.format_map(attrs.asdict(self))  # type: ignore[arg-type]


class BadSetting(ValueError):
    """Raised when a setting has a value that is not valid."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name
        self.problem = problem


def at_least(lowest: float, most: float | None = None) -> Validator:
    """Returns a validator of a number. It also accepts None, for settings that may be left out.

    Args:
        lowest: the smallest valid number.
        most: the largest valid number; None for no limit.
    """

    def check(_: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if value is None or (value >= lowest and (most is None or value <= most)):
            return
        bounds = f"from {lowest:g} on" if most is None else f"from {lowest:g} to {most:g}"
        raise BadSetting(attribute.name, f"expected a number {bounds}, got {value:g}")

    return check


def one_line(_: Any, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    """Raises `BadSetting` if a text has a newline.

    Args:
        _: the object that has the setting.
        attribute: the setting.
        value: the value of the setting.
    """
    if value is not None and "\n" in value:
        raise BadSetting(attribute.name, f"expected one line, got {value!r}")


def plain_json(_: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Raises `BadSetting` if JSON cannot express a value, such as a date or an infinity of TOML.

    Args:
        _: the object that has the setting.
        attribute: the setting.
        value: the value of the setting.
    """
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise BadSetting(attribute.name, f"expected a JSON value, got {value!r}") from None
