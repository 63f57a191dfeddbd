"""What the rules of a plan make of one frame, one after the other."""

from collections.abc import Callable
from typing import Any

from attrs import define, field

from acp_proxy.faults.effects import Delivery, DeliveryPiece, Fired, SideEffect
from acp_proxy.faults.fault import PassingFrame
from acp_proxy.faults.plan import FaultRule
from acp_proxy.faults.triggers import Triggers
from acp_proxy.protocol.peers import Direction


@define
class Flow:
    """What becomes of one frame.

    Attributes:
        number: the frame's, counted from 1 as received.
        frame: what the rules get; its delivery changes from rule to rule.
        deliveries: what goes out in its place, and with it, in order.
        side_effects: what else happens, and by which rule.
        fired: the rules that fired.
    """

    number: int
    frame: PassingFrame
    deliveries: list[Delivery]
    side_effects: list[tuple[FaultRule, SideEffect]] = field(factory=list)
    fired: list[FaultRule] = field(factory=list)

    @classmethod
    def of(cls, number: int, at: int, row: dict[str, Any], newline: bytes, total: int) -> "Flow":
        """Begins with a frame as it came.

        Args:
            number: the frame's.
            at: when it was received, monotonic nanoseconds.
            row: what is known of it.
            newline: how its line ended.
            total: bytes of its direction that came before it.
        """
        direction = row["stream"]
        delivery = Delivery(direction, (DeliveryPiece(row["raw"] + newline),))
        return cls(number, PassingFrame(direction, row, newline, total, at, delivery), [delivery])

    def apply_rule(self, rule: FaultRule, triggers: Triggers, state: Any) -> None:
        """Applies a rule that matches the frame, if it fires.

        Args:
            rule: which.
            triggers: the counts of all rules.
            state: what the rule's kind keeps for the direction.
        """
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

    def firings(self, lets_pass: Callable[[Direction], bool]) -> list[Fired]:
        """Returns what the rules made of the frame, and the lines they injected, as they go out.

        Args:
            lets_pass: whether something passes in a direction at all.
        """
        found = list[Fired]()
        is_lost = True
        for delivery in self.deliveries:
            if not delivery.is_injected and is_lost:
                is_lost = False
                found += self._of_the_frame(delivery.data or None)
            elif delivery.is_injected and lets_pass(delivery.direction):
                kind = next(rule.kind for rule in self.fired if rule.name == delivery.by)
                data, direction = delivery.data, delivery.direction
                found.append(Fired(delivery.by, kind, direction, None, data, self.number))
        return self._of_the_frame(None) + found if is_lost else found

    def _apply(self, rule: FaultRule, delivery: Delivery, *, is_first: bool) -> None:
        """Applies a rule to one copy; side effects and made-up lines come once, with the first."""
        self.frame.delivery = delivery
        for effect in rule.fault.apply(self.frame):
            if not isinstance(effect, Delivery):
                if is_first:
                    self.side_effects.append((rule, effect))
            elif is_first if effect.is_made_up else effect.pieces:
                is_unsigned = effect.is_injected and not effect.by
                self.deliveries.append(effect._replace(by=rule.name) if is_unsigned else effect)

    def _of_the_frame(self, delivered: bytes | None) -> list[Fired]:
        direction, raw, number = self.frame.direction, self.frame.row["raw"], self.number
        return [
            Fired(rule.name, rule.kind, direction, raw, delivered, number) for rule in self.fired
        ]
