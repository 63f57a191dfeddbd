"""The fault engine: it gets frames, and returns the outputs that replace the frames.

The engine gets the time when a frame was received, and decides when the frame's bytes are due. A
driver waits until then. Frames of both directions pass through one engine, since rules depend on
exchanges and turns. The rules of a plan apply in order, each to the result of the rules before it.

Order within a direction is kept (`DeliveryQueue`): a delayed frame also delays the frames after it.
Only a late `reply`, a `reorder` and a `latency` with ``keep_order=false`` let later frames go
first.

A held delivery waits for later frames. A held reply may also wait until its request is cancelled.
At the end of a direction all held deliveries go out.

A rule counts its matches and firings in counter scopes (`faults.triggers`). The state of a kind is
separate for each rule and direction.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import define, field

from acp_proxy.base.limits import WAITING_BYTES
from acp_proxy.faults.fault import (
    CloseEffect,
    Delivery,
    DeliveryPiece,
    DirectionEnd,
    ExitEffect,
    Fired,
    Output,
    PassingFrame,
    RuleEffect,
    ScheduledWrite,
    SideEffect,
    StallEffect,
)
from acp_proxy.faults.plan import FaultRule, Plan
from acp_proxy.faults.triggers import Triggers, firing_in
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.connection_state import Transition
from acp_proxy.protocol.jsonrpc import Direction, Message, read


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
    """When the last queued byte will have gone out, in monotonic nanoseconds."""
    total: int = 0
    """How many bytes were received in this direction."""
    ended_by: FaultRule | None = None
    """The rule that stopped the direction."""
    is_closed: bool = False
    """Whether the direction ends after the bytes that were sent so far."""

    def send(self, delivery: Delivery, at: int, frame: int) -> list[ScheduledWrite]:
        """Returns the writes of a delivery; empty if a rule has stopped the direction.

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
        """Returns the write of a frame that no rule changes.

        Args:
            direction: the direction of the frame.
            data: the line, newline included.
            at: when the frame was received, in monotonic nanoseconds.
            frame: the number of the frame.
        """
        self.free_at = due = max(at, self.free_at)
        return ScheduledWrite(direction, data, due, frame, is_joinable=True)

    def let_overtake(self, waiting: list[HeldDelivery], at: int) -> Iterator[ScheduledWrite]:
        """Lets a frame overtake the held deliveries. Releases those that wait for no more frames.

        Args:
            waiting: the deliveries that were already held when the frame was received.
            at: when the frame was received, in monotonic nanoseconds.
        """
        for item in waiting:
            left = max(0, item.delivery.behind_frames - 1)
            item.delivery = item.delivery._replace(behind_frames=left)
            if not left and not item.delivery.until_cancel:
                yield from self._release(item, at)

    def make_room(self, at: int) -> Iterator[ScheduledWrite]:
        """Releases the oldest held deliveries until at most `WAITING_BYTES` are held.

        One delivery stays held, whatever its size.
        """
        while self.waiting[1:] and sum(len(h.delivery.data) for h in self.waiting) > WAITING_BYTES:
            yield from self._release(self.waiting[0], at)

    def cancel(
        self, direction: Direction, message: Message, labels: Transition, at: int
    ) -> Iterator[ScheduledWrite]:
        """Yields the writes of the held replies whose request or turn is cancelled by a message.

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
        for item in sorted(self.waiting, key=lambda item: item.delivery.behind_frames):
            yield from self._release(item, at)

    def stop(self, rule: FaultRule) -> None:
        """Stops the direction, and drops all held deliveries."""
        self.ended_by = self.ended_by or rule
        self.waiting.clear()

    def _release(self, item: HeldDelivery, at: int) -> Iterator[ScheduledWrite]:
        self.waiting.remove(item)
        yield from self.send(item.delivery, max(at, item.received), item.frame)


@define
class _Flow:
    """A frame while it is processed.

    A frame may become several deliveries, or none.

    Attributes:
        number: the number of the frame, counted from 1 as received.
        frame: the frame as the next rule gets it; `frame.delivery` changes from rule to rule.
        deliveries: the deliveries in place of the frame and beside it, in order.
        late: the delay of each delivery in nanoseconds; None for a delivery that is held or does
            not pass.
    """

    number: int
    frame: PassingFrame
    deliveries: list[Delivery]
    side_effects: list[tuple[FaultRule, SideEffect]] = field(factory=list)
    fired: list[FaultRule] = field(factory=list)
    late: list[int | None] = field(factory=list)

    @classmethod
    def of(cls, number: int, at: int, row: dict[str, Any], newline: bytes, total: int) -> "_Flow":
        """Returns the flow of a received frame, to which no rule has been applied yet."""
        direction = row["stream"]
        delivery = Delivery(direction, (DeliveryPiece(row["raw"] + newline),))
        return cls(number, PassingFrame(direction, row, newline, total, at, delivery), [delivery])

    def apply_rule(self, rule: FaultRule, triggers: Triggers, state: Any) -> None:
        """Applies a matching rule if it fires. `state` belongs to the rule and the direction."""
        frame, fault, deliveries = self.frame, rule.fault, self.deliveries
        copies = [delivery for delivery in deliveries if not delivery.is_made_up]
        if not copies:
            if not fault.has_side_effect:
                return
            copies = [Delivery(frame.direction, ())]
            deliveries = [*deliveries, *copies]
        frame.delivery, frame.state = copies[0], state
        if not fault.fits(frame):
            return
        chance = triggers.fires(rule, frame.row, frame.at)
        if chance is None:
            return
        frame.chance = chance
        self.fired.append(rule)
        self.deliveries = []
        for delivery in deliveries:
            if delivery.is_made_up:
                self.deliveries.append(delivery)
            else:
                self._apply(rule, delivery, is_first=delivery is copies[0])

    def firings(self, queues: dict[Direction, DeliveryQueue]) -> list[Fired]:
        """Returns the firings for the frame and for each injected line, in the order of output."""
        result = list[Fired]()
        is_lost = True
        for delivery, late in zip(self.deliveries, self.late, strict=True):
            if not delivery.is_injected and is_lost:
                is_lost = False
                result += self._of_the_frame(delivery.data or None, late)
            elif delivery.is_injected and queues[delivery.direction].ended_by is None:
                kind = next(rule.kind for rule in self.fired if rule.name == delivery.by)
                data, direction = delivery.data, delivery.direction
                fired = Fired(delivery.by, kind, direction, None, data, self.number, late_ns=late)
                result.append(fired)
        return self._of_the_frame(None) + result if is_lost else result

    def _apply(self, rule: FaultRule, delivery: Delivery, *, is_first: bool) -> None:
        """Applies a rule to a copy of a frame. Only the first copy has side effects."""
        self.frame.delivery = delivery
        for effect in rule.fault.apply(self.frame):
            if not isinstance(effect, Delivery):
                if is_first:
                    self.side_effects.append((rule, effect))
            elif is_first if effect.is_made_up else effect.pieces:
                is_unsigned = effect.is_injected and not effect.by
                self.deliveries.append(effect._replace(by=rule.name) if is_unsigned else effect)

    def _of_the_frame(self, delivered: bytes | None, late: int | None = None) -> list[Fired]:
        direction, raw, number = self.frame.direction, self.frame.row["raw"], self.number
        return [
            Fired(rule.name, rule.kind, direction, raw, delivered, number, late_ns=late)
            for rule in self.fired
        ]


class FaultEngine:
    """Executes a plan on a connection that began at `origin`, in monotonic nanoseconds.

    `seed` is used only if the plan has no seed.
    """

    def __init__(self, plan: Plan, seed: int, origin: int) -> None:
        self.seed = plan.seed if plan.seed is not None else seed
        self._origin = origin
        self._connection = Connection()
        self._queues = {direction: DeliveryQueue() for direction in Direction}
        self._rules = {
            direction: [(rule, rule.fault.new_state()) for rule in firing_in(plan, direction)]
            for direction in Direction
        }
        self._triggers = Triggers(plan.rules, self.seed, origin)
        self._frames = 0
        self._seq = 0

    @property
    def fired(self) -> dict[str, int]:
        """How often each rule fired."""
        return self._triggers.fired

    def receive(self, direction: Direction, raw: bytes, newline: bytes, at: int) -> list[Output]:
        """Processes a frame, and returns the outputs that replace the frame.

        Args:
            direction: the direction of the frame.
            raw: the line, without its newline.
            newline: the newline; empty for a last line without a newline.
            at: when the last byte was read, in monotonic nanoseconds.
        """
        self._frames += 1
        message, queue = read(raw), self._queues[direction]
        total, queue.total = queue.total, queue.total + len(raw) + len(newline)
        labels = self._label(direction, message, at)
        outputs: list[Output]
        if (by := queue.ended_by) is not None:
            outputs = [Fired(by.name, by.kind, direction, raw, None, self._frames, is_again=True)]
        else:
            row = self._row(direction, raw, message, labels)
            flow = self._apply_rules(row, newline, at, total)
            if flow is None:
                outputs = [queue.pass_on(direction, raw + newline, at, self._frames)]
            else:
                writes = self._send(flow)
                outputs = [*flow.firings(self._queues), *writes]
                if flow.side_effects:
                    outputs += self._stop(flow.side_effects)
        for other in self._queues.values():
            if other.waiting:
                outputs += other.cancel(direction, message, labels, at)
        return outputs

    def observe(self, direction: Direction, raw: bytes, at: int) -> None:
        """Notes a frame that no rule changes, since rules for later frames can depend on it.

        Args:
            direction: the direction of the frame.
            raw: the line, without its newline.
            at: when the last byte was read, in monotonic nanoseconds.
        """
        self._frames += 1
        self._label(direction, read(raw), at)

    def end(self, direction: Direction, at: int) -> Iterator[Output]:
        """Ends a direction. Held deliveries go out, and then the direction is closed.

        Args:
            direction: the direction that ends.
            at: when the end of the direction was read, in monotonic nanoseconds.
        """
        queue = self._queues[direction]
        yield from queue.empty(at)
        if not queue.is_closed:
            queue.is_closed = True
            yield DirectionEnd(direction)

    def _row(
        self, direction: Direction, raw: bytes, message: Message, labels: Transition
    ) -> dict[str, Any]:
        """Returns the known properties of a passing frame, by the column names of `frames`."""
        return {
            "stream": direction,
            "kind": message.kind,
            "method": labels.method,
            "rpc_id": message.rpc_id,
            "session": labels.session,
            "turn": labels.turn,
            "tool_call": labels.tool_call,
            "terminal": labels.terminal,
            "size": len(raw),
            "raw": raw,
            "dialect": self._connection.dialect,
        }

    def _apply_rules(
        self, row: dict[str, Any], newline: bytes, at: int, total: int
    ) -> _Flow | None:
        """Applies the matching rules. Returns None if the frame passes unchanged and at once."""
        direction = row["stream"]
        flow = None
        for rule, state in self._rules[direction]:
            if rule.chosen.matches(row):
                flow = flow or _Flow.of(self._frames, at, row, newline, total)
                flow.apply_rule(rule, self._triggers, state)
        if self._queues[direction].waiting:
            return flow or _Flow.of(self._frames, at, row, newline, total)
        return flow if flow is not None and flow.fired else None

    def _send(self, flow: _Flow) -> list[ScheduledWrite]:
        """Sends or holds a frame's deliveries. Then sends deliveries that waited for the frame."""
        own, row, at, number = flow.frame.direction, flow.frame.row, flow.frame.at, flow.number
        queue, writes = self._queues[own], list[ScheduledWrite]()
        waiting = queue.waiting.copy()
        for delivery in flow.deliveries:
            to = self._queues[delivery.direction]
            if delivery.behind_frames or delivery.until_cancel:
                to.waiting.append(HeldDelivery(delivery, at, number, row["session"], row["rpc_id"]))
                flow.late.append(None)
            else:
                sent = to.send(delivery, at, number)
                flow.late.append(max(0, sent[-1].due - at) if sent else None)
                writes += sent
            if delivery.is_injected:
                # The receiver takes an injected line for a line of its peer, and may answer it.
                self._label(delivery.direction, read(delivery.data.rstrip(b"\r\n")), at)
        if waiting and any(delivery.direction is own for delivery in flow.deliveries):
            writes += queue.let_overtake(waiting, at)
        if queue.waiting:
            writes += queue.make_room(at)
        return writes

    def _stop(self, side_effects: Iterable[tuple[FaultRule, SideEffect]]) -> Iterator[Output]:
        """Yields side effects, and stops each direction that a side effect stalls or ends."""
        for rule, effect in side_effects:
            yield RuleEffect(rule.name, rule.kind, effect)
            match effect:
                case StallEffect(direction):
                    self._queues[direction].stop(rule)
                case CloseEffect(direction):
                    self._queues[direction].stop(rule)
                    yield from self.end(direction, at=0)  # no delivery is held any more
                case ExitEffect():
                    for queue in self._queues.values():
                        queue.stop(rule)

    def _label(self, direction: Direction, message: Message, at: int) -> Transition:
        self._seq += 1
        return self._connection.feed(self._seq, at - self._origin, direction, message)
