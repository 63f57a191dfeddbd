"""Decides which recorded frame goes out next."""

from collections.abc import Iterator

from attrs import define, frozen

from acp_proxy.engine.agent.lanes import Key, Lane, Track, Waiting
from acp_proxy.engine.agent.schedule import ReplaySchedule
from acp_proxy.engine.agent.withholding import Withholding
from acp_proxy.engine.shared.line_rewriter import Writer
from acp_proxy.engine.shared.pacing import Pacing
from acp_proxy.engine.shared.playback_options import Order
from acp_proxy.engine.shared.steps import PROMPT, UPDATE, Ask, Step, Wire
from acp_proxy.protocol.dialects import V2
from acp_proxy.protocol.jsonrpc import read


@define
class OpenAsk:
    """A request of the agent's that is out and has no answer yet."""

    ask: Ask
    step: Step


@frozen
class Ready:
    """A frame whose turn it is."""

    seq: int
    step: Step | None
    """None for a notification, of which only the number is held."""
    source: Track | Waiting
    due: int


@frozen
class Sent:
    """What became of a frame."""

    data: bytes | None
    """What to write; None if all of it is withheld."""
    withheld: tuple[Ask, ...] = ()
    """The requests in it that the client does not see."""


class Player:
    """Plays a story's frames.

    Attributes:
        live_ids: the live id of each client's request that came, by exchange.
        asked: the agent's open requests by their id's token, oldest first.
        withholding: knows what the client is not to see, and what it did not see.
        sent: how many frames went out.
    """

    def __init__(
        self, schedule: ReplaySchedule, writer: Writer, pacing: Pacing, withholding: Withholding
    ) -> None:
        self.live_ids: dict[int, str] = {}
        self.asked: dict[str, list[OpenAsk]] = {}
        self.withholding = withholding
        self.sent = 0
        self._hidden = 0
        self._schedule = schedule
        self._writer = writer
        self._pacing = pacing
        self._is_shaken = False

    @property
    def passed(self) -> int:
        """How many frames were sent or withheld."""
        return self.sent + self._hidden

    @property
    def left_out(self) -> int:
        """How many frames answer nothing but what the client may leave out and did."""
        return len(self._schedule.connection.waiting) - sum(1 for _ in self._awaited())

    def left_in(self, lane: Lane) -> Iterator[int]:
        """Yields the frames of a lane that have not gone out, but for those that are left out."""
        if lane.name is None and self._schedule.order is not Order.RECORDED:
            yield from self._awaited()
            return
        track = self._schedule.track_of(lane.name)
        for one in track.queue if track is not None else ():
            if isinstance(one, int):
                yield one
            elif one.from_agent and one.lane == lane.name:
                yield one.seq

    def _awaited(self) -> Iterator[int]:
        """Yields the connection's frames that have not gone out, but for those that are left out.

        A frame is left out if none of the requests that it answers came, and none had to come.
        """
        if not (every := self._schedule.connection.waiting):
            return
        expected = self._schedule.lanes[None].expected
        optional = {step.key for step in expected if step.can_be_left_out}
        optional.update(self._schedule.let_pass.values())
        for waiting in every:
            has_come = any(a.exchange in self.live_ids for a in waiting.step.answers)
            if has_come or not waiting.asked or not waiting.asked <= optional:
                yield waiting.step.seq

    def next(self, now: int) -> Ready | None:
        """Returns the frame that goes out now: of those that are due, the one recorded first."""
        return min(
            (ready for ready in self.waiting_for_time(now) if ready.due <= now),
            key=lambda ready: ready.seq,
            default=None,
        )

    def waiting_for_time(self, now: int) -> Iterator[Ready]:
        """Yields the frames that wait for nothing but perhaps their time."""
        for track in self._schedule.tracks.values():
            if (head := self._head(track)) is not None:
                seq = head if isinstance(head, int) else head.seq
                if self._may_pass(seq):
                    step = None if isinstance(head, int) else head
                    yield Ready(seq, step, track, self._due(track, seq, now))
        for waiting in self._schedule.connection.waiting:
            if self._may_pass(waiting.step.seq) and waiting.is_free:
                due = self._due(waiting, waiting.step.seq, now)
                yield Ready(waiting.step.seq, waiting.step, waiting, due)

    def next_of(self, track: Track | None, now: int) -> Ready | None:
        """Returns the frame that is next on one track, whenever it is due."""
        head = None if track is None else self._head(track)
        if track is None or head is None:
            return None
        if isinstance(head, int):
            return Ready(head, None, track, now) if self._may_pass(head) else None
        return Ready(head.seq, head, track, now) if self._may_pass(head.seq) else None

    def send(self, ready: Ready, at: int) -> Sent:
        """Takes a frame from its place; returns what to write, if anything."""
        wire = self._schedule.script.wire(ready.seq)
        if isinstance(ready.source, Track):
            ready.source.queue.popleft()
            ready.source.passed(at, wire.t_ns)
        else:
            self._schedule.connection.went(ready.source, at)
        if ready.seq == self._schedule.handshake:
            self._is_shaken = True
        step = ready.step
        answers = step.answers if step is not None else ()
        ids = self._open_ids() if step is not None and step.asks else {}
        ids |= {a.rpc_id: self.live_ids.pop(a.exchange, a.rpc_id) for a in answers}
        shown = self.withholding.look(wire, self._writer.written(wire, ids))
        if not shown.is_whole:
            self.withholding.frames.append(ready.seq)
        asks = step.asks if step is not None else ()
        withheld = tuple(ask for ask in asks if ask.rpc_id in shown.withheld)
        if step is not None:
            self._note(step, withheld)
        if shown.raw is None:
            self._hidden += 1
            return Sent(None, withheld)
        self.sent += 1
        if self._schedule.script.dialect == V2:
            self._look_for_idle(wire)
        return Sent(shown.raw + wire.newline.encode(), withheld)

    def _open_ids(self) -> dict[str, str]:
        """The live ids of the client's requests that have no answer yet, by the recorded tokens."""
        waiting = [one for lane in self._schedule.lanes.values() for one in lane.open.values()]
        return {step.rpc_id: token for token, step in waiting if step.rpc_id is not None}

    def repeated(self, step: Step, token: str) -> bytes:
        """Writes the recorded answer to a request once more.

        Args:
            step: the recorded request, which was answered.
            token: the live id of the one that it answers now.
        """
        wire = self._schedule.script.wire(step.response_seq or 0)
        return self._writer.written(wire, {step.rpc_id or "null": token}) + b"\n"

    def is_overtaken(self, lane: Lane, key: Key) -> bool:
        """Whether something of a session that was recorded before a message has not passed yet."""
        track = self._schedule.track_of(lane.name)
        if track is None or self._schedule.order is not Order.SESSION:
            return False
        self._head(track)
        head = track.queue[0] if track.queue else None
        return head is not None and (head if isinstance(head, int) else head.seq) < key[0]

    def skip(self, lane: Lane, missing: Step) -> None:
        """Forgets the answer to a request that will not come."""
        if missing.kind == "request" and missing.exchange is not None:
            lane.skipped.add(missing.exchange)
            self._schedule.connection.skip({missing.exchange})
            self._is_shaken |= missing.response_seq == self._schedule.handshake

    def _head(self, track: Track) -> int | Step | None:
        """The frame that is next on a track, or None while it waits for the client."""
        lanes, queue, let_pass = self._schedule.lanes, track.queue, self._schedule.let_pass
        track.waits_for = None
        if track.lane is not None and track.lane.abandoned:
            queue.clear()
        while queue:
            head = queue[0]
            if isinstance(head, int):
                return head
            lane = lanes[head.lane]
            if lane.abandoned or (head.answers and self._is_skipped(head, lane)):
                self._schedule.drop(head)
                queue.popleft()
            elif not head.from_agent and head.exchange in self._schedule.forgone:
                queue.popleft()
            elif head.from_agent:
                unasked = {a.exchange for a in head.answers} - self._schedule.forgone
                unasked -= self.live_ids.keys()
                if not unasked:
                    return head
                if not unasked <= let_pass.keys():
                    return None
                keys = {let_pass[exchange] for exchange in unasked}
                self._schedule.connection.waiting.append(Waiting(head, keys, set(), set()))
                queue.popleft()
            elif (at := lane.arrived.pop(head.key, None)) is not None:
                track.passed(at, head.t_ns)
                queue.popleft()
            elif self._is_optional(head):
                if head.is_push:
                    self._schedule.let_go(head)
                queue.popleft()
            else:
                track.waits_for = head
                return None
        return None

    def _is_optional(self, step: Step) -> bool:
        """Whether nobody waits for a message of the client's."""
        if self._schedule.order is Order.CAUSAL or step.exchange in self._schedule.let_pass:
            return True
        return not step.is_required and (step.kind != "invalid" or step.exchange is None)

    def _is_skipped(self, step: Step, lane: Lane) -> bool:
        return all(answer.exchange in lane.skipped for answer in step.answers)

    def _may_pass(self, seq: int) -> bool:
        """Whether the handshake is over, or the recording shows that this frame came before."""
        handshake = self._schedule.handshake
        return handshake is None or self._is_shaken or seq <= handshake

    def _due(self, source: Track | Waiting, seq: int, now: int) -> int:
        if self._pacing.is_instant or source.since is None:
            return now
        return self._pacing.due(*source.since, self._schedule.script.wire(seq).t_ns)

    def _note(self, step: Step, withheld: tuple[Ask, ...]) -> None:
        for ask in step.asks:
            if ask not in withheld:
                self.asked.setdefault(ask.rpc_id, []).append(OpenAsk(ask, step))
        lane = self._schedule.lanes[step.lane]
        for answer in step.answers:
            lane.open.pop(answer.exchange, None)
            if step.method == PROMPT and lane.is_idle:
                lane.is_cancelled = False

    def _look_for_idle(self, wire: Wire) -> None:
        """In v2 an update ends the turn, and not the answer to the prompt."""
        if wire.method == UPDATE and b"idle" in wire.raw:
            message = read(wire.raw)
            lane = self._schedule.lanes.get(message.session)
            if lane is not None and message.state == "idle":
                lane.is_idle, lane.is_cancelled = True, False
