"""Pairs what the client says with what was recorded, or writes down how it diverges from that."""

from collections.abc import Iterator

from acp_proxy.commands import Command
from acp_proxy.engine.agent.error_replies import refusal
from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.request_matcher import Found, Heard
from acp_proxy.engine.agent.state import Stage
from acp_proxy.engine.shared.comparison import Comparison
from acp_proxy.engine.shared.divergence import INFORMATION, Divergence, DivergenceKind
from acp_proxy.engine.shared.hidden_credentials import concealed
from acp_proxy.engine.shared.steps import HANDSHAKE, Step
from acp_proxy.protocol.jsonrpc import Kind

_PLAIN = {*INFORMATION, DivergenceKind.UNKNOWN_REPLY_ID, DivergenceKind.MALFORMED_INPUT}
"""Divergences in which no recorded message was nearly meant."""


class Examiner:
    """What is done with a message once it is known which recorded one it is, if any."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._schedule = stage.schedule
        self._listener = stage.listener
        self._player = stage.player

    def pair(self, found: Found, heard: Heard) -> tuple[Lane, Step]:
        """Takes a live message for a recorded one; returns that, and its lane."""
        self._schedule.read_to(found.step.seq)
        step = self._unrolled(found.step)
        lane = self._schedule.lanes[step.lane]
        if step.is_required and self._player.is_overtaken(lane, step.key):
            summary = f"{step.method} #{step.seq} came before what was recorded before it"
            self.diverged(DivergenceKind.EARLY, lane, summary, heard, seq=step.seq)
        elif step.key in self._schedule.passed_over:
            summary = f"{step.method} #{step.seq} came when nobody waited for it any longer"
            self.diverged(DivergenceKind.LATE, lane, summary, heard, seq=step.seq)
        self._stage.match(lane, step, heard.at)
        return lane, step

    def diverged(
        self,
        kind: DivergenceKind,
        lane: Lane,
        summary: str,
        heard: Heard,
        *,
        seq: int | None = None,
        compared: Comparison | None = None,
        of_handshake: bool = False,
    ) -> Divergence:
        """Writes a divergence down, with what is like the message in the recording."""
        return self._stage.divergences.note(
            kind,
            lane,
            summary,
            heard.at,
            seq=seq,
            line=heard.line,
            came=concealed(heard.raw, heard.message.kind, heard.message.method),
            differences=(*compared.differences, *compared.conflicts) if compared else (),
            near_misses=() if compared or kind in _PLAIN else self._listener.near_misses(heard),
            of_handshake=of_handshake,
        )

    def refuse(
        self, heard: Heard, *, conflict: Found | None, lane: Lane | None = None
    ) -> Iterator[Command]:
        """Answers a request that was not recorded with an error, and gives its lane up."""
        message = heard.message
        lane = lane or self._listener.lane_of(message.session)
        misses = self._listener.near_misses(heard)
        unplayed = [miss for miss in misses if not miss.is_played]
        again = self._listener.find_played(heard)
        seq: int | None
        compared = None
        if conflict is not None:
            kind, seq, compared = (
                DivergenceKind.BINDING_CONFLICT,
                conflict.step.seq,
                conflict.comparison,
            )
            summary = f"{conflict.step.method} #{seq}: the client chose another value before"
        elif again is not None:
            kind, seq = DivergenceKind.EXHAUSTED, again.seq
            summary = f"the client sent {message.method} #{again.seq} once more than recorded"
        elif unplayed:
            kind, seq = DivergenceKind.PARAMS_DIFFER, unplayed[0].seq
            summary = f"the recording expected {message.method} #{seq}; the client sent another one"
        else:
            kind, seq = DivergenceKind.UNMATCHED, lane.awaited.seq if lane.awaited else None
            summary = f"the client sent {message.method}, which was not recorded there"
        if message.session is None and seq is not None and kind is not DivergenceKind.EXHAUSTED:
            lane = self._lane_of(seq) or lane
        divergence = self.diverged(
            kind,
            lane,
            summary,
            heard,
            seq=seq,
            compared=compared,
            of_handshake=message.method in HANDSHAKE,
        )
        if message.kind is Kind.REQUEST:
            yield refusal(message.rpc_id, divergence)
        if conflict is not None or not self._stage.options.lenient:
            yield from self._stage.abandon(lane)

    def _lane_of(self, seq: int) -> Lane | None:
        for lane in self._schedule.lanes.values():
            if any(step.seq == seq for step in (*lane.expected, *lane.played)):
                return lane
        return None

    def _unrolled(self, step: Step) -> Step:
        """The same step as it stands in its lane, once the recording is unrolled that far."""
        for lane in self._schedule.lanes.values():
            for known in lane.expected:
                if known.key == step.key:
                    return known
        return step
