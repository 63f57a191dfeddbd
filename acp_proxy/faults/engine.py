"""The fault engine: frames go in, what is delivered in their place comes out.

Pure: it is told when a frame came and says when its bytes are due; whoever runs it waits. Frames of
both directions pass through one engine, since rules know exchanges and turns, and the correlation
that tells them is the recorder's own. The rules of a plan apply in order, each to what the ones
before it have left.

Order within a direction is kept: a frame that is late makes those behind it late as well. Only a
late `reply`, a `reorder` and a `latency` that is told so let others go first. At the end of a
direction everything that is held goes out.

A rule counts its matches, and how often it fired, in *lanes*: a direction of a session, or of the
connection. So what happens in a lane depends on its frames, and not on how lanes interleave.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import define, evolve, field, frozen

from acp_proxy.faults.chance import Chance
from acp_proxy.faults.effects import Close, Effect, Exit, Parcel, Piece, Signal, Stall, WriteStderr
from acp_proxy.faults.fault import Passing
from acp_proxy.faults.plan import Plan, Rule
from acp_proxy.protocol.correlation import Correlator, Labels
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.peers import Direction

_MOST_HELD = 1 << 20
"""Bytes beyond which the oldest of several held frames goes out, whatever it waits for."""


@frozen
class Deliver:
    """Bytes for a peer, due at a moment.

    Whoever delivers them does so in the order of their moments in each direction, and what is due
    at one moment in the order in which it was given.

    Attributes:
        frame: the number of the frame that they come from, counted from 1 as they were received.
        is_injected: whether they are no form of that frame, or a copy of it.
    """

    direction: Direction
    data: bytes
    due: int
    frame: int = 0
    is_injected: bool = False


@frozen
class Fired:
    """A rule fired. A frame has one for each rule, a line that was injected one of its own.

    Attributes:
        rule: its name.
        action: its kind.
        direction: of the frame.
        received: the line as it came, without its newline; None for one that was injected.
        delivered: the bytes that go out in its place when all rules have been applied, newline
            included; None if nothing does.
        frame: the number of the frame that set the rule off, counted from 1 as received.
    """

    rule: str
    action: str
    direction: Direction
    received: bytes | None
    delivered: bytes | None
    frame: int = 0


@frozen
class EndOf:
    """A direction ends: close it once what was given before has gone out."""

    direction: Direction


Output = Deliver | Fired | EndOf | Signal | Exit | WriteStderr


@define
class _Held:
    """A parcel that waits."""

    parcel: Parcel
    received: int
    frame: int
    session: str | None
    rpc_id: str | None

    def is_given_up(self, direction: Direction, message: Message, labels: Labels) -> bool:
        """Whether a message cancels what the parcel answers."""
        if message.method == "session/cancel":
            return labels.session is not None and labels.session == self.session
        if message.method != "$/cancel_request" or message.target is None:
            return False
        return direction is not self.parcel.direction and message.target == self.rpc_id


@define
class _Lane:
    """One direction: what is held, and until when what went before is on its way."""

    held: list[_Held] = field(factory=list)
    last_due: int = 0
    total: int = 0
    ended_by: Rule | None = None
    """The rule after which nothing passes any more."""
    is_closed: bool = False
    """Whether its end has been told."""


@define
class _Count:
    """How often a rule has matched, and how often it fired; in one lane."""

    matches: int = 0
    fired: int = 0


@define
class _Flow:
    """What becomes of one frame."""

    frame: int
    at: int
    passing: Passing
    parcels: list[Parcel]
    beside: list[tuple[Rule, Effect]] = field(factory=list)
    fired: list[Rule] = field(factory=list)

    @property
    def own(self) -> Parcel | None:
        """What is left of the frame itself."""
        return next((p for p in self.parcels if not p.is_injected and p.pieces), None)


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
        self._lanes = {direction: _Lane() for direction in Direction}
        self._counts: dict[str, dict[str, _Count]] = {rule.name: {} for rule in plan.rules}
        self._frames = 0
        self._seq = 0

    @property
    def fired(self) -> dict[str, int]:
        """How often each rule fired."""
        return {
            name: sum(count.fired for count in lanes.values())
            for name, lanes in self._counts.items()
        }

    def receive(
        self, direction: Direction, raw: bytes, newline: bytes, at: int
    ) -> Iterator[Output]:
        """Takes a frame; yields what happens in its place.

        Args:
            direction: where it was going.
            raw: the line, without its newline.
            newline: how it ended; empty for a last line that did not.
            at: when its last byte was read, monotonic nanoseconds.
        """
        self._frames += 1
        message = read(raw)
        labels = self._label(direction, message, at)
        row = _row(direction, raw, message, labels)
        lane = self._lanes[direction]
        before, lane.total = lane.total, lane.total + len(raw) + len(newline)
        if (by := lane.ended_by) is not None:
            yield Fired(by.name, by.kind, direction, raw, None, self._frames)
        else:
            parcel = Parcel(direction, (Piece(raw + newline),))
            flow = _Flow(self._frames, at, Passing(row, parcel, newline, before), [parcel])
            for rule in self.plan.rules:
                if rule.chosen.matches(row):
                    self._apply(rule, flow)
            if not flow.fired and not lane.held:  # as most frames pass
                lane.last_due = due = max(at, lane.last_due)
                yield Deliver(direction, raw + newline, due, self._frames)
            else:
                yield from self._told(flow)
                yield from self._sent(flow)
                yield from self._carried_out(flow.beside)
        yield from self._freed(direction, message, labels, at)

    def observe(self, direction: Direction, raw: bytes, at: int) -> None:
        """Takes note of a frame that no rule can touch, for what its answer will belong to.

        Args:
            direction: where it goes.
            raw: the line, without its newline.
            at: when its last byte was read, monotonic nanoseconds.
        """
        self._label(direction, read(raw), at)

    def has_ended(self, direction: Direction) -> bool:
        """Whether a rule lets nothing pass in a direction any more."""
        return self._lanes[direction].ended_by is not None

    def end(self, direction: Direction, at: int) -> Iterator[Output]:
        """Ends a direction: what is held goes out, then it is closed."""
        lane = self._lanes[direction]
        held, lane.held = sorted(lane.held, key=lambda held: held.parcel.behind), []
        for one in held:
            yield from self._due(one.parcel, max(one.received, at), one.frame)
        if not lane.is_closed:
            lane.is_closed = True
            yield EndOf(direction)

    def _apply(self, rule: Rule, flow: _Flow) -> None:
        """Lets a rule that means a frame do what it does, if it is set off."""
        row = flow.passing.row
        own = [p for p in flow.parcels if p.pieces and not p.is_foreign]
        if not own and not rule.fault.acts_beside:
            return
        first = flow.passing
        if not own or own[0] is not first.parcel:
            empty = evolve(first.parcel, pieces=())
            first = evolve(first, parcel=own[0] if own else empty)
        if row["stream"] not in rule.fault.directions or not rule.fault.fits(first):
            return
        chance = self._set_off(rule, row, flow.at)
        if chance is None:
            return
        flow.fired.append(rule)
        if not own:
            self._take(rule, flow, flow.parcels, rule.fault.apply(first, chance), is_first=True)
            return
        left: list[Parcel] = []
        for parcel in flow.parcels:
            if not parcel.pieces or parcel.is_foreign:
                left.append(parcel)
                continue
            effects = rule.fault.apply(evolve(flow.passing, parcel=parcel), chance)
            self._take(rule, flow, left, effects, is_first=parcel is own[0])
        flow.parcels = left

    def _take(
        self,
        rule: Rule,
        flow: _Flow,
        into: list[Parcel],
        effects: Iterable[Effect],
        *,
        is_first: bool,
    ) -> None:
        """Sorts effects; what happens beside the frame happens once, however many copies it has."""
        for effect in effects:
            if isinstance(effect, Parcel) and not effect.is_foreign:
                if effect.pieces:
                    into.append(_signed(effect, rule))
            elif is_first and isinstance(effect, Parcel):
                into.append(_signed(effect, rule))
            elif is_first:
                flow.beside.append((rule, effect))

    def _set_off(self, rule: Rule, row: dict[str, Any], at: int) -> Chance | None:
        """Counts a match; returns its draws if the rule fires, else None."""
        trigger, lane = rule.trigger, _key(row)
        if trigger.window is not None:
            begin, end = trigger.window
            if not begin <= at - self._origin < end:
                return None
        count = self._counts[rule.name].setdefault(lane, _Count())
        count.matches += 1
        if count.matches <= trigger.after or (count.matches - trigger.after - 1) % trigger.every:
            return None
        if trigger.times is not None and count.fired >= trigger.times:
            return None
        chance = Chance(self.seed, rule.key, lane, count.matches)
        if trigger.probability < 1 and chance.draw("fires") >= trigger.probability:
            return None
        count.fired += 1
        return chance

    def _told(self, flow: _Flow) -> Iterator[Fired]:
        """Says what the rules made of a frame, and which lines they injected, as they go out."""
        own, row = flow.own, flow.passing.row
        direction, raw = flow.passing.direction, row["raw"]
        kinds = {rule.name: rule.kind for rule in flow.fired}

        def injected(parcels: Iterable[Parcel]) -> Iterator[Fired]:
            for parcel in parcels:
                if parcel.is_injected and self._lanes[parcel.direction].ended_by is None:
                    kind = kinds[parcel.by]
                    yield Fired(parcel.by, kind, parcel.direction, None, parcel.data, flow.frame)

        place = next((n for n, p in enumerate(flow.parcels) if p is own), 0)
        yield from injected(flow.parcels[:place])
        for rule in flow.fired:
            data = (own.data or None) if own is not None else None
            yield Fired(rule.name, rule.kind, direction, raw, data, flow.frame)
        yield from injected(flow.parcels[place:])

    def _sent(self, flow: _Flow) -> Iterator[Output]:
        """Sends parcels, or holds those that wait; then frees those that waited for a frame."""
        direction, row = flow.passing.direction, flow.passing.row
        lane = self._lanes[direction]
        waiting = list(lane.held)
        for parcel in flow.parcels:
            held = _Held(parcel, flow.at, flow.frame, row["session"], row["rpc_id"])
            if parcel.behind or parcel.until_cancel:
                self._lanes[parcel.direction].held.append(held)
            else:
                yield from self._due(parcel, flow.at, flow.frame)
            if parcel.is_injected:
                self._label(parcel.direction, read(parcel.data.rstrip(b"\r\n")), flow.at)
        if any(parcel.direction is direction for parcel in flow.parcels):
            for one in waiting:
                one.parcel = evolve(one.parcel, behind=max(0, one.parcel.behind - 1))
                if not one.parcel.behind and not one.parcel.until_cancel:
                    yield from self._released(lane, one, flow.at)
        while len(lane.held) > 1 and sum(len(h.parcel.data) for h in lane.held) > _MOST_HELD:
            yield from self._released(lane, lane.held[0], flow.at)

    def _freed(
        self, direction: Direction, message: Message, labels: Labels, at: int
    ) -> Iterator[Output]:
        """Frees the replies that waited until nobody wants them any more."""
        for lane in self._lanes.values():
            for one in [h for h in lane.held if h.parcel.until_cancel]:
                if one.is_given_up(direction, message, labels):
                    yield from self._released(lane, one, at)

    def _released(self, lane: _Lane, one: _Held, at: int) -> Iterator[Output]:
        lane.held.remove(one)
        yield from self._due(one.parcel, max(at, one.received), one.frame)

    def _carried_out(self, effects: Iterable[tuple[Rule, Effect]]) -> Iterator[Output]:
        for rule, effect in effects:
            if isinstance(effect, Stall):
                self._stop(rule, effect.direction)
            elif isinstance(effect, Close):
                lane = self._lanes[effect.direction]
                self._stop(rule, effect.direction)
                if not lane.is_closed:
                    lane.is_closed = True
                    yield EndOf(effect.direction)
            elif not isinstance(effect, Parcel):
                if isinstance(effect, Exit):
                    for direction in Direction:
                        self._stop(rule, direction)
                yield effect

    def _stop(self, rule: Rule, direction: Direction) -> None:
        """Lets nothing more pass in a direction, of what is held neither."""
        lane = self._lanes[direction]
        lane.ended_by = lane.ended_by or rule
        lane.held.clear()

    def _due(self, parcel: Parcel, at: int, frame: int) -> Iterator[Deliver]:
        lane = self._lanes[parcel.direction]
        if lane.ended_by is not None:
            return
        due, last = at, lane.last_due
        for piece in parcel.pieces:
            due = last = max(due + piece.after_ns, last) + piece.takes_ns
            if piece.data:
                yield Deliver(parcel.direction, piece.data, due, frame, parcel.is_injected)
        if not parcel.is_apart:
            lane.last_due = last

    def _label(self, direction: Direction, message: Message, at: int) -> Labels:
        self._seq += 1
        labels = self._correlator.feed(self._seq, at - self._origin, direction, message)
        self._correlator.drain()
        return labels


def _signed(parcel: Parcel, rule: Rule) -> Parcel:
    return evolve(parcel, by=rule.name) if parcel.is_injected and not parcel.by else parcel


def _row(direction: Direction, raw: bytes, message: Message, labels: Labels) -> dict[str, Any]:
    """What is known of a frame, with the names of the columns of `frames`."""
    return {
        "stream": direction.value,
        "kind": Kind(message.kind).value,
        "method": labels.method,
        "rpc_id": message.rpc_id,
        "session": labels.session,
        "turn": labels.turn,
        "tool_call": labels.tool_call,
        "terminal": labels.terminal,
        "size": len(raw),
        "raw": raw,
    }


def _key(row: dict[str, Any]) -> str:
    """The lane that matches are counted in: a direction of a session, or of the connection."""
    return f"{row['stream']} {row['session'] or ''}"
