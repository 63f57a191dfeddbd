"""One direction of the engine: when bytes are due, and which deliveries are held back.

Order is kept: a delayed delivery also delays later deliveries, unless later deliveries may overtake
it. A held delivery waits for later frames, or for a cancellation of the request that it answers. At
the end of the direction all held deliveries go out.
"""

from collections.abc import Iterator

from attrs import define, field

from acp_proxy.base.limits import WAITING_BYTES
from acp_proxy.faults.fault import Delivery, ScheduledWrite
from acp_proxy.faults.plan import FaultRule
from acp_proxy.protocol.connection_state import Transition
from acp_proxy.protocol.jsonrpc import Direction, Message


@define
class HeldDelivery:
    """A delivery that is held back."""

    delivery: Delivery
    received: int
    """When the frame of the delivery was received, in monotonic nanoseconds."""
    frame: int
    session: str | None
    rpc_id: str | None

    def _is_cancelled_by(self, direction: Direction, message: Message, labels: Transition) -> bool:
        """Whether a message in a direction cancels the request that the delivery answers."""
        if message.method == "session/cancel":
            return labels.session is not None and labels.session == self.session
        if message.method != "$/cancel_request" or message.target is None:
            return False
        return direction is not self.delivery.direction and message.target == self.rpc_id


@define
class DeliveryQueue:
    """The deliveries of one direction."""

    waiting: list[HeldDelivery] = field(factory=list)
    free_at: int = 0
    """When everything sent so far has gone out, in monotonic nanoseconds."""
    total: int = 0
    """How many bytes were received in this direction."""
    ended_by: FaultRule | None = None
    """The rule that stopped the direction."""
    is_closed: bool = False
    """Whether the end of the direction was decided."""

    def send(self, delivery: Delivery, at: int, frame: int) -> list[ScheduledWrite]:
        """Returns the writes of a delivery; an empty list if the direction was stopped.

        Args:
            delivery: the delivery to send.
            at: the earliest time to send the delivery, in monotonic nanoseconds.
            frame: the number of the frame that the delivery comes from.
        """
        if self.ended_by is not None:
            return []
        moments = delivery.schedule(at, self.free_at)
        if moments and not delivery.may_be_overtaken:
            self.free_at = moments[-1][0]
        direction, is_injected = delivery.direction, delivery.is_injected
        return [
            ScheduledWrite(direction, data, due, frame, is_injected)
            for due, data in moments
            if data
        ]

    def pass_on(self, direction: Direction, data: bytes, at: int, frame: int) -> ScheduledWrite:
        """Returns the write of a frame that no rule changes; most frames are of this kind.

        Args:
            direction: the direction of the frame.
            data: the line, newline included.
            at: when the frame was received, in monotonic nanoseconds.
            frame: the number of the frame.
        """
        self.free_at = due = max(at, self.free_at)
        return ScheduledWrite(direction, data, due, frame, is_joinable=True)

    def let_overtake(self, waiting: list[HeldDelivery], at: int) -> Iterator[ScheduledWrite]:
        """Counts a frame that overtakes held deliveries; yields the writes of deliveries it frees.

        Args:
            waiting: the deliveries that were held before the frame.
            at: when the frame was received, in monotonic nanoseconds.
        """
        for item in waiting:
            left = max(0, item.delivery.behind_frames - 1)
            item.delivery = item.delivery._replace(behind_frames=left)
            if not left and not item.delivery.until_cancel:
                yield from self._release(item, at)

    def make_room(self, at: int) -> Iterator[ScheduledWrite]:
        """Releases the oldest held deliveries until at most `WAITING_BYTES` are held."""
        while self.waiting[1:] and sum(len(h.delivery.data) for h in self.waiting) > WAITING_BYTES:
            yield from self._release(self.waiting[0], at)

    def cancel(
        self, direction: Direction, message: Message, labels: Transition, at: int
    ) -> Iterator[ScheduledWrite]:
        """Yields the writes of held replies whose request or turn a message cancels.

        Args:
            direction: the direction of the message; it may differ from the direction of this queue.
            message: the message.
            labels: the session and exchange of the message.
            at: when the message was received, in monotonic nanoseconds.
        """
        for item in [h for h in self.waiting if h.delivery.until_cancel]:
            if item._is_cancelled_by(direction, message, labels):
                yield from self._release(item, at)

    def empty(self, at: int) -> Iterator[ScheduledWrite]:
        """Releases all held deliveries, in the order in which they would have gone out."""
        items, self.waiting = sorted(self.waiting, key=lambda item: item.delivery.behind_frames), []
        for item in items:
            yield from self.send(item.delivery, max(item.received, at), item.frame)

    def stop(self, rule: FaultRule) -> None:
        """Stops the direction, and drops all held deliveries."""
        self.ended_by = self.ended_by or rule
        self.waiting.clear()

    def _release(self, item: HeldDelivery, at: int) -> Iterator[ScheduledWrite]:
        self.waiting.remove(item)
        yield from self.send(item.delivery, max(at, item.received), item.frame)
