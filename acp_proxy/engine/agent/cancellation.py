"""Takes what the client cancels: a turn, or a single request.

When the user pressed stop must not matter, so what was recorded before a recorded cancellation goes
out first. One that was not recorded is a divergence, and still ends what it cancels as the
specification wants it to end, so that no client hangs.
"""

from collections.abc import Iterator

from acp_proxy.commands import Command
from acp_proxy.engine.agent.error_replies import (
    cancelled_answer,
    cancelled_request,
    cancelled_update,
)
from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.pairing import Examiner
from acp_proxy.engine.agent.request_matcher import Found, Heard
from acp_proxy.engine.agent.state import Stage
from acp_proxy.engine.shared.comparison import Comparison
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.steps import CANCEL_REQUEST, PROMPT, Step
from acp_proxy.protocol.dialects import V2


class Cancels:
    """Takes cancellations, one after the other."""

    def __init__(self, stage: Stage, examiner: Examiner) -> None:
        self._stage = stage
        self._examiner = examiner
        self._schedule = stage.schedule
        self._listener = stage.listener
        self._player = stage.player
        self._cancelled: dict[str, int] = {}

    def take_turn(self, found: Found | None, lane: Lane, heard: Heard) -> Iterator[Command]:
        """Takes a ``session/cancel``; one that comes before its prompt cancels nothing."""
        if found is None or self._is_too_early(found.step, lane):
            lane.is_cancelled = True
            yield from self._take_unrecorded_cancel(lane, heard)
            return
        lane, step = self._examiner.pair(found, heard)
        lane.is_cancelled = True
        yield from self._flush(lane, step, heard.at)

    def _is_too_early(self, cancel: Step, lane: Lane) -> bool:
        return any(step.method == PROMPT and step.key < cancel.key for step in lane.expected)

    def forget(self, token: str) -> None:
        """Notes that an id is used anew."""
        self._cancelled.pop(token, None)

    def take_request(self, heard: Heard) -> Iterator[Command]:
        """Takes a ``$/cancel_request``."""
        token = heard.message.target or "null"
        if (found := self._find_cancel_request(token)) is not None:
            lane, step = self._examiner.pair(Found(found, Comparison()), heard)
            if step.exchange is not None:
                self._cancelled[token] = step.seq
            if lane.name is not None:
                yield from self._flush(lane, step, heard.at)
            return
        asked = (
            (lane, exchange)
            for lane in self._schedule.lanes.values()
            for exchange, (live, _) in lane.open.items()
            if live == token
        )
        lane, exchange = next(asked, (self._schedule.lanes[None], None))
        if (again := self._cancelled.get(token)) is not None:
            summary = f"the client cancelled request {token} once more than recorded"
            self._examiner.diverged(DivergenceKind.EXHAUSTED, lane, summary, heard, seq=again)
        elif exchange is not None:
            summary = f"the client cancelled request {token}, which was not recorded"
            divergence = self._examiner.diverged(
                DivergenceKind.UNRECORDED_CANCEL, lane, summary, heard
            )
            lane.open.pop(exchange)
            yield cancelled_request(token, divergence)
        else:
            summary = f"the client cancelled request {token}, which is not open"
            self._examiner.diverged(DivergenceKind.UNEXPECTED_NOTIFICATION, lane, summary, heard)
        if exchange is not None:
            yield from self._stage.abandon(lane)

    def _take_unrecorded_cancel(self, lane: Lane, heard: Heard) -> Iterator[Command]:
        """Ends the turn as the specification wants it to end, so that no client hangs."""
        again = self._listener.find_played(heard)
        kind = DivergenceKind.EXHAUSTED if again else DivergenceKind.UNRECORDED_CANCEL
        what = "cancelled once more than recorded" if again else "cancelled, which was not recorded"
        seq = again.seq if again else None
        self._examiner.diverged(kind, lane, f"the client {what}", heard, seq=seq)
        for exchange, (token, step) in list(lane.open.items()):
            if step.method == PROMPT:
                lane.open.pop(exchange)
                yield cancelled_answer(token, is_v2=self._schedule.script.dialect == V2)
        if not lane.is_idle and heard.message.session is not None:
            lane.is_idle = True
            yield cancelled_update(heard.message.session)
        yield from self._stage.abandon(lane)

    def _find_cancel_request(self, token: str) -> Step | None:
        """The recorded message that cancels the same request, or one that was closed as well."""
        exchanges = {e for e, live in self._player.live_ids.items() if live == token}
        waited = [
            step
            for lane in self._schedule.lanes.values()
            for step in lane.expected
            if step.method == CANCEL_REQUEST
        ]
        for step in waited:
            if step.exchange in exchanges or (step.exchange is None and not exchanges):
                return step
        return None

    def _flush(self, lane: Lane, cancel: Step, at: int) -> Iterator[Command]:
        """Plays what was recorded before a cancellation, so that its moment does not matter."""
        while True:
            ready = self._player.next_of(self._schedule.track_of(lane.name), at)
            if ready is None or ready.seq > cancel.seq:
                return
            yield from self._stage.play(ready, at)
