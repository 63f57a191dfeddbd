"""What the rules of a plan make of one frame, one after the other."""

from collections.abc import Iterable
from typing import Any

from attrs import define, evolve, field

from acp_proxy.faults.effects import Delivery, DeliveryPiece, Effect, SideEffect
from acp_proxy.faults.fault import MatchedFrame, PassingFrame
from acp_proxy.faults.outputs import Fired
from acp_proxy.faults.plan import FaultRule
from acp_proxy.faults.triggers import Triggers
from acp_proxy.protocol.connection_state import Transition
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.peers import Direction


def row_of(
    direction: Direction,
    raw: bytes,
    message: Message,
    labels: Transition,
    dialect: str | None = None,
) -> dict[str, Any]:
    """Returns what is known of a frame when it passes, with the names of the columns of `frames`.

    Args:
        direction: where it goes.
        raw: its line, without the newline.
        message: what the line says.
        labels: what it belongs to.
        dialect: of its connection, as far as it is known.
    """
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
        "dialect": dialect,
    }


@define
class Flow:
    """What becomes of one frame.

    Attributes:
        frame: its number, counted from 1 as received.
        passing: the frame before any rule.
        deliveries: what goes out in its place, and with it, in order.
        side_effects: what else happens, and by which rule.
        fired: the rules that fired.
    """

    frame: int
    passing: PassingFrame
    deliveries: list[Delivery]
    side_effects: list[tuple[FaultRule, SideEffect]] = field(factory=list)
    fired: list[FaultRule] = field(factory=list)

    @classmethod
    def of(cls, frame: int, at: int, row: dict[str, Any], newline: bytes, total: int) -> "Flow":
        """Begins with a frame as it came.

        Args:
            frame: its number.
            at: when it was received, monotonic nanoseconds.
            row: what is known of it.
            newline: how its line ended.
            total: bytes of its direction that came before it.
        """
        delivery = Delivery(row["stream"], (DeliveryPiece(row["raw"] + newline),))
        return cls(frame, PassingFrame(row, delivery, newline, total, at, None), [delivery])

    def apply_rule(self, rule: FaultRule, triggers: Triggers, state: Any) -> None:
        """Applies a rule that matches the frame, if it fires.

        Args:
            rule: which.
            triggers: the counts of all rules.
            state: what the rule's kind keeps for the direction.
        """
        own = [d for d in self.deliveries if d.pieces and not d.is_made_up]
        if not own and not rule.fault.has_side_effect:
            return
        first = own[0] if own else evolve(self.passing.delivery, pieces=())
        came = self.passing
        if not rule.fault.fits(
            PassingFrame(came.row, first, came.newline, came.total, came.at, state)
        ):
            return
        chance = triggers.fires(rule, came.row, came.at)
        if chance is None:
            return
        self.fired.append(rule)

        def effects(delivery: Delivery) -> Iterable[Effect]:
            return rule.fault.apply(
                MatchedFrame(came.row, delivery, came.newline, came.total, came.at, state, chance)
            )

        if not own:
            self._sort(rule, self.deliveries, effects(first), is_first=True)
            return
        left: list[Delivery] = []
        for delivery in self.deliveries:
            if not delivery.pieces or delivery.is_made_up:
                left.append(delivery)
                continue
            self._sort(rule, left, effects(delivery), is_first=delivery is own[0])
        self.deliveries = left

    def firings(self, open_directions: Iterable[Direction]) -> list[Fired]:
        """Returns what the rules made of the frame, and the lines they injected, as they go out.

        Args:
            open_directions: the directions in which something passes at all.
        """
        own = next((d for d in self.deliveries if not d.is_injected and d.pieces), None)
        found = [] if own is not None else self._of_the_frame(None)
        for delivery in self.deliveries:
            if delivery is own:
                found += self._of_the_frame(own.data or None)
            elif delivery.is_injected and delivery.direction in open_directions:
                by = next(rule for rule in self.fired if rule.name == delivery.by)
                found.append(
                    Fired(by.name, by.kind, delivery.direction, None, delivery.data, self.frame)
                )
        return found

    def _of_the_frame(self, delivered: bytes | None) -> list[Fired]:
        direction, raw = self.passing.direction, self.passing.row["raw"]
        return [
            Fired(rule.name, rule.kind, direction, raw, delivered, self.frame)
            for rule in self.fired
        ]

    def _sort(
        self, rule: FaultRule, into: list[Delivery], effects: Iterable[Effect], *, is_first: bool
    ) -> None:
        """Sorts effects; a side effect happens once, however many copies the frame has."""
        for effect in effects:
            if not isinstance(effect, Delivery):
                if is_first:
                    self.side_effects.append((rule, effect))
            elif is_first if effect.is_made_up else effect.pieces:
                into.append(_signed(effect, rule))


def _signed(delivery: Delivery, rule: FaultRule) -> Delivery:
    return evolve(delivery, by=rule.name) if delivery.is_injected and not delivery.by else delivery
