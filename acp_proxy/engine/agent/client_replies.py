"""Takes what the client answers to the agent's requests: the outcome has to be the recorded one.

An agent that was allowed to write went on as one that was, so after another outcome the rest of the
recorded story would be a lie, and the session is given up. Other content is told and no more.
"""

from collections.abc import Iterator
from typing import Any

from acp_proxy.commands import Command
from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.outcomes import CANCELLED, described
from acp_proxy.engine.agent.pairing import Examiner
from acp_proxy.engine.agent.pushed_output import Pushes
from acp_proxy.engine.agent.request_matcher import Found, Heard
from acp_proxy.engine.agent.sender import OpenAsk
from acp_proxy.engine.agent.state import Stage
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.steps import Step


class Replies:
    """Takes replies, one after the other."""

    def __init__(self, stage: Stage, examiner: Examiner, pushes: Pushes) -> None:
        self._stage = stage
        self._examiner = examiner
        self._pushes = pushes
        self._schedule = stage.schedule
        self._listener = stage.listener
        self._player = stage.player

    def take(self, heard: Heard) -> Iterator[Command]:
        """Takes a reply; the oldest open request with its id is the one that it answers."""
        token = heard.message.rpc_id or "null"
        asked = self._player.asked.get(token)
        if not asked:
            yield from self._take_unknown_reply(heard, token)
            return
        opened = asked.pop(0)
        if not asked:
            del self._player.asked[token]
        lane = self._schedule.lanes[opened.step.lane]
        if lane.abandoned:
            return
        reply = self._recorded_reply(opened, lane)
        if reply is None:
            summary = f"the recorded client never answered {opened.ask.method} #{opened.step.seq}"
            self._examiner.diverged(DivergenceKind.DRIFT, lane, summary, heard, seq=opened.step.seq)
            return
        yield from self._take_answer(opened, reply, heard, lane)

    def _take_answer(
        self, opened: OpenAsk, reply: Step, heard: Heard, lane: Lane
    ) -> Iterator[Command]:
        """Takes the answer to a request of the agent's that the recorded client answered, too."""
        what = f"{opened.ask.method} #{opened.step.seq}"
        recorded, live = self._listener.outcomes(opened, reply, heard)
        comparison = self._listener.compare(reply, heard)
        if recorded != live and not (lane.is_cancelled and live == CANCELLED):
            summary = (
                f"{what}: the recording expected {described(recorded)},"
                f" the client answered {described(live)}"
            )
            self._examiner.diverged(
                DivergenceKind.OUTCOME_DIFFERS,
                lane,
                summary,
                heard,
                seq=reply.seq,
                compared=comparison,
            )
            yield from self._stage.abandon(lane)
            return
        if not self._stage.bind(comparison):
            yield from self._examiner.refuse(heard, conflict=Found(reply, comparison), lane=lane)
            return
        if comparison.differences:
            summary = f"the answer to {what} has other content"
            self._examiner.diverged(
                DivergenceKind.DRIFT, lane, summary, heard, seq=reply.seq, compared=comparison
            )
        terminal = self._listener.terminal_of(opened)
        self._pushes.end(opened.ask.method, terminal, heard)
        if opened.ask.method == "terminal/release":
            self._stage.bindings.released.add(terminal)
        self._stage.match(lane, reply, heard.at)

    def _take_unknown_reply(self, heard: Heard, token: str) -> Iterator[Command]:
        """A reply that nobody waits for: doubled, late, or sent before it was asked for."""
        replies = [
            (step.seq, lane, step)
            for lane in self._schedule.lanes.values()
            for step in lane.expected
            if step.is_reply and step.rpc_id == token
        ]
        for _, lane, step in replies:
            if step.exchange is None and self._listener.compare(step, heard).is_match:
                self._stage.match(lane, step, heard.at)
                return
        early = min((r for r in replies if r[2].exchange is not None), default=None, key=_first)
        if early is not None and not early[1].abandoned:
            seq, lane, _ = early
            summary = f"the client answered id {token} before the agent asked"
            self._examiner.diverged(DivergenceKind.UNKNOWN_REPLY_ID, lane, summary, heard, seq=seq)
            yield from self._stage.abandon(lane)
            return
        played = [
            (step.seq, lane)
            for lane in self._schedule.lanes.values()
            for step in lane.played
            if step.is_reply and step.rpc_id == token
        ]
        before = max(played, default=(0, self._schedule.lanes[None]), key=_first)
        summary = f"the client answered id {token}, which no open request of the agent has"
        self._examiner.diverged(
            DivergenceKind.UNKNOWN_REPLY_ID, before[1], summary, heard, seq=before[0] or None
        )

    def _recorded_reply(self, opened: OpenAsk, lane: Lane) -> Step | None:
        if opened.ask.reply_seq is None:
            return None
        self._schedule.read_to(opened.ask.reply_seq)
        replies = (
            s for s in lane.expected if s.exchange == opened.ask.exchange and not s.from_agent
        )
        return next((s for s in replies if s.is_reply), None)


def _first(one: tuple[Any, ...]) -> Any:
    return one[0]
