"""What the fault engine decides: values that a driver carries out.

Those of which each frame has one are named tuples, which take half as long to make.
"""

from typing import NamedTuple

from attrs import frozen

from acp_proxy.faults.effects import SideEffect
from acp_proxy.protocol.peers import Direction


class ScheduledWrite(NamedTuple):
    """Bytes for a peer, due at a moment; `faults.delivery_schedule` has the order.

    Attributes:
        direction: where they go.
        data: the bytes.
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
        direction: of the frame.
        received: the line as it came, without its newline; None for one that was injected.
        delivered: the bytes that go out in its place when all rules have been applied, newline
            included; None if nothing does.
        frame: the number of the frame at which the rule fired, counted from 1 as received.
        is_again: whether the rule has stopped the direction before, so that nothing passes there.
    """

    rule: str
    action: str
    direction: Direction
    received: bytes | None
    delivered: bytes | None
    frame: int = 0
    is_again: bool = False


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
