"""Decides when a replayed agent ends, and logs what was not played by then.

An agent that the end of its input or a signal stopped stays until its client stops it again. One
that ended by itself ends after its last frame: at once if the client has sent all that was
recorded, and otherwise when nothing came for as long as reordering may take, since what is missing
then is what a client may leave out.
"""

from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.state import ReplayState
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.steps import Step
from acp_proxy.protocol.dialects import HANDSHAKE
from acp_proxy.wording import counted


class ReplayEnding:
    """The end of one replay."""

    def __init__(self, state: ReplayState) -> None:
        self._log = state.divergences
        self._schedule = state.schedule
        self._requests = state.requests
        self._left_at = state.script.agent_left_at
        self._scheduler = state.scheduler

    @property
    def is_near(self) -> bool:
        """Whether the recorded agent ended by itself here, apart from optional messages."""
        if self._left_at is None or not self._schedule.is_whole:
            return False
        awaited = (lane.first_missing for lane in self._schedule.expecting)
        if any(step is not None and step.seq < self._left_at for step in awaited):
            return False
        lanes = self._schedule.live_lanes
        return not any(True for lane in lanes for _ in self._scheduler.unsent(lane))

    def has_come(self, *, is_settled: bool) -> bool:
        """Returns whether the replayed agent ends by itself now; `is_settled` tells of silence."""
        return self.is_near and (is_settled or not self._is_more_expected())

    def note_missing(self) -> None:
        """Logs the messages that the recorded client sent and the live one did not."""
        for lane in self._schedule.live_lanes:
            missing = [step for step in lane.missing() if step.key not in lane.lost]
            if not missing or missing[0].key in lane.missed:
                continue
            first, more = missing[0], len(missing) - 1
            summary = f"the client left without sending {first.title} #{first.seq}"
            self._log.note(
                DivergenceKind.MISSING_EXPECTED,
                lane,
                summary + (f" and {more} more" if more else ""),
                seq=first.seq,
                of_handshake=any(step.method in HANDSHAKE for step in missing),
            )

    def note_unplayed(self) -> None:
        """Logs how many frames of each lane never went out."""
        for lane in self._schedule.live_lanes:
            if left := [*self._scheduler.unsent(lane)]:
                summary = f"{counted(len(left), 'frame')} of the agent's never went out"
                self._log.note(DivergenceKind.UNPLAYED, lane, summary, seq=left[0])

    def note_harmless(self) -> None:
        """Logs, for information, what the client may leave out or the agent left unanswered."""
        for lane in self._schedule.live_lanes:
            for step in lane.expected:
                if step.is_optional and not step.is_push and step.key not in lane.lost:
                    self._note_left_out(lane, step)
            self._note_output(lane, [step for step in lane.expected if step.is_push])
            for request in self._requests.open_in(lane):
                step = request.step
                if step.response_seq is None:
                    summary = f"{step.title} #{step.seq} was never answered, as in the recording"
                    self._log.note(DivergenceKind.UNANSWERED, lane, summary, seq=step.seq)

    def _is_more_expected(self) -> bool:
        """Whether anything that the recorded agent was sent before it ended has not come."""
        left_at = self._left_at or 0
        lanes = self._schedule.expecting
        return any(step.seq < left_at for lane in lanes for step in lane.expected)

    def _note_output(self, lane: Lane, pieces: list[Step]) -> None:
        """Logs how many pieces of output did not come: in one entry, since pieces are random."""
        if pieces:
            what = "piece of terminal output" if len(pieces) == 1 else "pieces of terminal output"
            summary = f"{len(pieces)} {what} fewer came than recorded; no answer to them was played"
            self._note_not_sent(lane, pieces[0], summary)

    def _note_left_out(self, lane: Lane, step: Step) -> None:
        what = step.method or "the line that is no message,"
        summary = f"the client never sent {what} #{step.seq}, and need not have"
        if step.response_seq is not None:
            summary += f"; its answer #{step.response_seq} was not played"
        elif not step.is_awaited:
            return
        self._note_not_sent(lane, step, summary)

    def _note_not_sent(self, lane: Lane, step: Step, summary: str) -> None:
        kind = DivergenceKind.MISSING_EXPECTED
        self._log.note(kind, lane, summary, seq=step.seq, is_harmless=True)
