"""One direction through the engine: the moments at which bytes are due, and what is held back.

Order is kept: a delivery that is late makes those after it late as well, unless they may overtake
it. A held delivery waits for later frames, or for a cancellation of what it answers. At the end of
the direction all that is held goes out.
"""

from collections.abc import Iterator

from attrs import define, evolve, field

from acp_proxy.faults.effects import Delivery
from acp_proxy.faults.outputs import ScheduledWrite
from acp_proxy.faults.plan import FaultRule
from acp_proxy.protocol.correlation import Labels
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.peers import Direction

_MOST_HELD = 1 << 20
"""Bytes beyond which the oldest of several held frames goes out, whatever it waits for."""


@define
class HeldDelivery:
    """A delivery that waits."""

    delivery: Delivery
    received: int
    """When the frame came that it is made of, monotonic nanoseconds."""
    frame: int
    session: str | None
    rpc_id: str | None

    def is_given_up(self, direction: Direction, message: Message, labels: Labels) -> bool:
        """Whether a message cancels what the delivery answers."""
        if message.method == "session/cancel":
            return labels.session is not None and labels.session == self.session
        if message.method != "$/cancel_request" or message.target is None:
            return False
        return direction is not self.delivery.direction and message.target == self.rpc_id


@define
class DeliveryQueue:
    """One direction."""

    held: list[HeldDelivery] = field(factory=list)
    last_due: int = 0
    """Until when what went before is on its way."""
    total: int = 0
    """Bytes that were received."""
    ended_by: FaultRule | None = None
    """The rule after which nothing passes any more."""
    is_closed: bool = False
    """Whether its end has been told."""

    def send(self, delivery: Delivery, at: int, frame: int) -> Iterator[ScheduledWrite]:
        """Sends a delivery off at a moment; nothing of it where nothing passes any more."""
        if self.ended_by is not None:
            return
        due, last = at, self.last_due
        for piece in delivery.pieces:
            due = last = max(due + piece.after_ns, last) + piece.takes_ns
            if piece.data:
                yield ScheduledWrite(
                    delivery.direction, piece.data, due, frame, delivery.is_injected
                )
        if not delivery.may_be_overtaken:
            self.last_due = last

    def pass_on(self, direction: Direction, data: bytes, at: int, frame: int) -> ScheduledWrite:
        """Sends off a frame to which nothing happens, as most frames pass."""
        self.last_due = due = max(at, self.last_due)
        return ScheduledWrite(direction, data, due, frame, is_joinable=True)

    def let_overtake(self, waiting: list[HeldDelivery], at: int) -> Iterator[ScheduledWrite]:
        """A frame has passed those that waited; sends off what has waited for it."""
        for one in waiting:
            one.delivery = evolve(
                one.delivery, behind_frames=max(0, one.delivery.behind_frames - 1)
            )
            if not one.delivery.behind_frames and not one.delivery.until_cancel:
                yield from self._release(one, at)

    def make_room(self, at: int) -> Iterator[ScheduledWrite]:
        """Sends off the oldest of what is held while that is too much."""
        while len(self.held) > 1 and sum(len(h.delivery.data) for h in self.held) > _MOST_HELD:
            yield from self._release(self.held[0], at)

    def give_up(
        self, direction: Direction, message: Message, labels: Labels, at: int
    ) -> Iterator[ScheduledWrite]:
        """Sends off the replies that waited until a message, of any direction, gives up on them."""
        for one in [h for h in self.held if h.delivery.until_cancel]:
            if one.is_given_up(direction, message, labels):
                yield from self._release(one, at)

    def empty(self, at: int) -> Iterator[ScheduledWrite]:
        """Sends off all that is held, in the order in which it would have gone."""
        held, self.held = sorted(self.held, key=lambda held: held.delivery.behind_frames), []
        for one in held:
            yield from self.send(one.delivery, max(one.received, at), one.frame)

    def stop(self, rule: FaultRule) -> None:
        """Lets nothing more pass, of what is held neither."""
        self.ended_by = self.ended_by or rule
        self.held.clear()

    def _release(self, one: HeldDelivery, at: int) -> Iterator[ScheduledWrite]:
        self.held.remove(one)
        yield from self.send(one.delivery, max(at, one.received), one.frame)
