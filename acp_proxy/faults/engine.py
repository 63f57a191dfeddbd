"""The fault engine: frames go in, what is delivered in their place comes out.

Pure: it is told when a frame came and says when its bytes are due; whoever runs it waits. Frames of
both directions pass through one engine, since rules know exchanges and turns, and the correlation
that tells them is the recorder's own. The rules of a plan apply in order, each to what the ones
before it have left (`faults.flow`).

Order within a direction is kept (`faults.delivery_queue`): a frame that is late makes those after
it late as well. Only a late `reply`, a `reorder` and a `latency` with ``keep_order=false`` let
others go first. At the end of a direction everything that is held goes out.

A rule counts its matches, and how often it fired, in lanes (`faults.triggers`).
"""

from collections.abc import Iterable, Iterator
from typing import Any

from acp_proxy.faults.delivery_queue import DeliveryQueue, HeldDelivery
from acp_proxy.faults.effects import CloseEffect, ExitEffect, SideEffect, StallEffect
from acp_proxy.faults.flow import Flow, row_of
from acp_proxy.faults.outputs import DirectionEnd, Fired, Output, RuleEffect
from acp_proxy.faults.plan import FaultRule, Plan
from acp_proxy.faults.reach import firing_in
from acp_proxy.faults.triggers import Triggers
from acp_proxy.protocol.correlation import Correlator, Labels
from acp_proxy.protocol.jsonrpc import Message, read
from acp_proxy.protocol.peers import Direction


class FaultEngine:
    """Carries a plan out on one connection.

    Args:
        plan: the rules.
        seed: of all chance; the plan's own counts if it has one.
        origin: when the connection began, monotonic nanoseconds.
        dialect: as ``--dialect`` has it.
    """

    def __init__(self, plan: Plan, seed: int, origin: int, dialect: str = "auto") -> None:
        self.plan = plan
        self.seed = plan.seed if plan.seed is not None else seed
        self._origin = origin
        self._correlator = Correlator(dialect=dialect)
        self._ways = {direction: DeliveryQueue() for direction in Direction}
        self._rules = {one: firing_in(plan, one) for one in Direction}
        self._triggers = Triggers(plan.rules, self.seed, origin)
        self._frames = 0
        self._seq = 0

    @property
    def fired(self) -> dict[str, int]:
        """How often each rule fired."""
        return self._triggers.fired

    def receive(self, direction: Direction, raw: bytes, newline: bytes, at: int) -> list[Output]:
        """Takes a frame; returns what happens in its place.

        Args:
            direction: where it was going.
            raw: the line, without its newline.
            newline: how it ended; empty for a last line that did not.
            at: when its last byte was read, monotonic nanoseconds.
        """
        message, labels, total = self._arrived(direction, raw, newline, at)
        way = self._ways[direction]
        outputs: list[Output]
        if (by := way.ended_by) is not None:
            outputs = [Fired(by.name, by.kind, direction, raw, None, self._frames, is_again=True)]
        else:
            flow = self._met(
                row_of(direction, raw, message, labels, self._correlator.dialect),
                newline,
                at,
                total,
            )
            if flow is None:
                outputs = [way.pass_on(direction, raw + newline, at, self._frames)]
            else:
                open_ways = [one for one, way in self._ways.items() if way.ended_by is None]
                outputs = [*flow.told(open_ways), *self._sent(flow)]
                outputs += self._carried_out(flow.beside)
        for other in self._ways.values():
            if other.held:
                outputs += other.give_up(direction, message, labels, at)
        return outputs

    def observe(self, direction: Direction, raw: bytes, newline: bytes, at: int) -> None:
        """Takes note of a frame that has passed in a direction that no rule can touch.

        Answers that come later belong to it.

        Args:
            direction: where it went.
            raw: the line, without its newline.
            newline: how it ended.
            at: when its last byte was read, monotonic nanoseconds.
        """
        self._arrived(direction, raw, newline, at)

    def end(self, direction: Direction, at: int) -> Iterator[Output]:
        """Ends a direction: what is held goes out, then it is closed."""
        way = self._ways[direction]
        yield from way.empty(at)
        if not way.is_closed:
            way.is_closed = True
            yield DirectionEnd(direction)

    def _arrived(
        self, direction: Direction, raw: bytes, newline: bytes, at: int
    ) -> tuple[Message, Labels, int]:
        """Reads and counts a frame; returns how many bytes of its direction came before, too."""
        self._frames += 1
        message, way = read(raw), self._ways[direction]
        total, way.total = way.total, way.total + len(raw) + len(newline)
        return message, self._label(direction, message, at), total

    def _met(self, row: dict[str, Any], newline: bytes, at: int, total: int) -> Flow | None:
        """Lets a frame meet the rules that mean it; None if it passes, and nothing waits for it."""
        direction = row["stream"]
        flow = None
        for rule in self._rules[direction]:
            if rule.chosen.matches(row):
                flow = flow or Flow.of(self._frames, at, row, newline, total)
                flow.meet(rule, self._triggers)
        if self._ways[direction].held:
            return flow or Flow.of(self._frames, at, row, newline, total)
        return flow if flow is not None and flow.fired else None

    def _sent(self, flow: Flow) -> Iterator[Output]:
        """Sends deliveries, or holds those that wait; then those that have waited for a frame."""
        direction, row = flow.passing.direction, flow.passing.row
        way = self._ways[direction]
        waiting = list(way.held)
        for delivery in flow.deliveries:
            if delivery.behind_frames or delivery.until_cancel:
                held = HeldDelivery(delivery, flow.at, flow.frame, row["session"], row["rpc_id"])
                self._ways[delivery.direction].held.append(held)
            else:
                yield from self._ways[delivery.direction].send(delivery, flow.at, flow.frame)
            if delivery.is_injected:
                line = delivery.data.rstrip(b"\r\n")
                self._label(delivery.direction, read(line), flow.at)
        if any(delivery.direction is direction for delivery in flow.deliveries):
            yield from way.let_overtake(waiting, flow.at)
        yield from way.make_room(flow.at)

    def _carried_out(
        self, side_effects: Iterable[tuple[FaultRule, SideEffect]]
    ) -> Iterator[Output]:
        for rule, effect in side_effects:
            yield RuleEffect(rule.name, rule.kind, effect)
            match effect:
                case StallEffect(direction):
                    self._ways[direction].stop(rule)
                case CloseEffect(direction):
                    way = self._ways[direction]
                    way.stop(rule)
                    if not way.is_closed:
                        way.is_closed = True
                        yield DirectionEnd(direction)
                case ExitEffect():
                    for way in self._ways.values():
                        way.stop(rule)

    def _label(self, direction: Direction, message: Message, at: int) -> Labels:
        self._seq += 1
        labels = self._correlator.feed(self._seq, at - self._origin, direction, message)
        self._correlator.drain()
        return labels
