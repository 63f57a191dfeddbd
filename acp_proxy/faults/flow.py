"""What the rules of a plan make of one frame, one after the other."""

from collections.abc import Iterable
from typing import Any

from attrs import define, evolve, field

from acp_proxy.faults.effects import Deed, Delivery, Effect, Piece
from acp_proxy.faults.fault import Passing
from acp_proxy.faults.outputs import Fired
from acp_proxy.faults.plan import Rule
from acp_proxy.faults.triggers import Triggers
from acp_proxy.protocol.correlation import Labels
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.peers import Direction


def row_of(
    direction: Direction, raw: bytes, message: Message, labels: Labels, dialect: str | None = None
) -> dict[str, Any]:
    """What is known of a frame when it passes, with the names of the columns of `frames`.

    ``dialect`` is that of its connection, as far as it is known.
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
        frame: its number, counted from 1 as they were received.
        at: when it came, monotonic nanoseconds.
        passing: the frame before any rule.
        parcels: what goes out in its place, and with it, in order.
        beside: what else happens, and by which rule.
        fired: the rules that fired.
    """

    frame: int
    at: int
    passing: Passing
    parcels: list[Delivery]
    beside: list[tuple[Rule, Deed]] = field(factory=list)
    fired: list[Rule] = field(factory=list)

    @classmethod
    def of(cls, frame: int, at: int, row: dict[str, Any], newline: bytes, total: int) -> "Flow":
        """Begins with a frame as it came; ``total`` bytes of its direction came before it."""
        parcel = Delivery(row["stream"], (Piece(row["raw"] + newline),))
        return cls(frame, at, Passing(row, parcel, newline, total), [parcel])

    def meet(self, rule: Rule, triggers: Triggers) -> None:
        """Lets a rule that means the frame do what it does, if that sets it off."""
        own = [p for p in self.parcels if p.pieces and not p.is_foreign]
        if not own and not rule.fault.acts_beside:
            return
        first = self._as(own[0] if own else evolve(self.passing.parcel, pieces=()))
        if not rule.fault.fits(first):
            return
        chance = triggers.set_off(rule, first.row, self.at)
        if chance is None:
            return
        self.fired.append(rule)
        if not own:
            self._take(rule, self.parcels, rule.fault.apply(first, chance), is_first=True)
            return
        left: list[Delivery] = []
        for parcel in self.parcels:
            if not parcel.pieces or parcel.is_foreign:
                left.append(parcel)
                continue
            effects = rule.fault.apply(self._as(parcel), chance)
            self._take(rule, left, effects, is_first=parcel is own[0])
        self.parcels = left

    def told(self, open_ways: Iterable[Direction]) -> list[Fired]:
        """Says what the rules made of the frame, and which lines they injected, as they go out.

        Args:
            open_ways: the directions in which something passes at all.
        """
        own = next((p for p in self.parcels if not p.is_injected and p.pieces), None)
        told = [] if own is not None else self._of_the_frame(None)
        for parcel in self.parcels:
            if parcel is own:
                told += self._of_the_frame(own.data or None)
            elif parcel.is_injected and parcel.direction in open_ways:
                by = next(rule for rule in self.fired if rule.name == parcel.by)
                told.append(
                    Fired(by.name, by.kind, parcel.direction, None, parcel.data, self.frame)
                )
        return told

    def _of_the_frame(self, delivered: bytes | None) -> list[Fired]:
        direction, raw = self.passing.direction, self.passing.row["raw"]
        return [
            Fired(rule.name, rule.kind, direction, raw, delivered, self.frame)
            for rule in self.fired
        ]

    def _as(self, parcel: Delivery) -> Passing:
        """The frame with what is left of it."""
        as_it_came = parcel is self.passing.parcel
        return self.passing if as_it_came else evolve(self.passing, parcel=parcel)

    def _take(
        self, rule: Rule, into: list[Delivery], effects: Iterable[Effect], *, is_first: bool
    ) -> None:
        """Sorts effects; what happens beside the frame happens once, however many copies it has."""
        for effect in effects:
            if not isinstance(effect, Delivery):
                if is_first:
                    self.beside.append((rule, effect))
            elif is_first if effect.is_foreign else effect.pieces:
                into.append(_signed(effect, rule))


def _signed(parcel: Delivery, rule: Rule) -> Delivery:
    return evolve(parcel, by=rule.name) if parcel.is_injected and not parcel.by else parcel
