"""Decides when a replayed agent ends, and names what was left when it does.

An agent that was told to stop, by the end of its input or by a signal, stays until its client tells
it again. One that ended by itself ends after its last frame: at once if the client has said all
that was recorded, and otherwise when nothing came for as long as reordering may take, since what is
missing then is what a client may leave out.
"""

from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.state import Stage
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.pacing import NS_PER_S
from acp_proxy.engine.shared.steps import HANDSHAKE, Step

SETTLE_NS = NS_PER_S
"""How long mere reordering has to resolve itself before a message counts as missing."""


class Ending:
    """The end of one replay.

    Args:
        stage: all that is known of it.
    """

    def __init__(self, stage: Stage) -> None:
        self._divergences = stage.divergences
        self._schedule = stage.schedule
        self._player = stage.player

    @property
    def is_near(self) -> bool:
        """Whether the recorded agent ended by itself now, but for what may be left out."""
        left_at = self._schedule.script.agent_left_at
        if left_at is None or not self._schedule.is_whole:
            return False
        awaited = (lane.awaited for lane in self._lanes)
        if any(step is not None and step.seq < left_at for step in awaited):
            return False
        left = (next(self._player.left_in(lane), None) for lane in self._lanes)
        return all(seq is None for seq in left)

    def has_come(self, *, is_settled: bool) -> bool:
        """Whether the replayed agent ends now by itself.

        Args:
            is_settled: whether nothing has come for so long that nothing more is waited for.
        """
        return self.is_near and (is_settled or not self._may_hear_more())

    def _may_hear_more(self) -> bool:
        """Whether anything that the recorded agent was sent before it ended has not come."""
        left_at = self._schedule.script.agent_left_at or 0
        return any(step.seq < left_at for lane in self._lanes for step in lane.expected)

    def note_missing(self, at: int) -> None:
        """Notes what the client has not sent although the recorded one did, and is gone."""
        for lane in self._lanes:
            missing = [s for s in lane.expected if s.is_required and not s.can_be_left_out]
            if not missing or missing[0].key in lane.missed:
                continue
            first, more = missing[0], len(missing) - 1
            summary = f"the client left without sending {first.title} #{first.seq}"
            self._divergences.note(
                DivergenceKind.MISSING_EXPECTED,
                lane,
                summary + (f" and {more} more" if more else ""),
                at,
                seq=first.seq,
                of_handshake=any(step.method in HANDSHAKE for step in missing),
            )

    def note_unplayed(self, at: int) -> None:
        """Notes the frames that the client was waiting for, or would have been."""
        for lane in self._lanes:
            if left := [*self._player.left_in(lane)]:
                summary = f"{len(left)} frame{'s' * (len(left) > 1)} of the agent's never went out"
                self._divergences.note(DivergenceKind.UNPLAYED, lane, summary, at, seq=left[0])

    def note_harmless(self, at: int) -> None:
        """Notes, for information, what was left out or left unanswered as it may be.

        With what the other notes name, that is all that has not been played or answered.
        """
        for lane in self._lanes:
            for step in lane.expected:
                if step.can_be_left_out and not step.is_push:
                    self._note_left_out(lane, step, at)
            self._note_output(lane, [step for step in lane.expected if step.is_push], at)
            for _, step in lane.open.values():
                if step.response_seq is None:
                    summary = f"{step.title} #{step.seq} was never answered, as in the recording"
                    self._divergences.note(
                        DivergenceKind.UNANSWERED, lane, summary, at, seq=step.seq
                    )

    def _note_output(self, lane: Lane, pieces: list[Step], at: int) -> None:
        """Notes once what of a terminal's output did not come; how it is cut is chance."""
        if pieces:
            what = "piece of terminal output" if len(pieces) == 1 else "pieces of terminal output"
            summary = f"{len(pieces)} {what} fewer came than recorded; no answer to them was played"
            self._divergences.note(
                DivergenceKind.MISSING_EXPECTED,
                lane,
                summary,
                at,
                seq=pieces[0].seq,
                is_harmless=True,
            )

    def _note_left_out(self, lane: Lane, step: Step, at: int) -> None:
        what = step.method or "the line that is no message,"
        summary = f"the client never sent {what} #{step.seq}, and need not have"
        if step.response_seq is not None:
            summary += f"; its answer #{step.response_seq} was not played"
        elif not step.is_required:
            return
        self._divergences.note(
            DivergenceKind.MISSING_EXPECTED, lane, summary, at, seq=step.seq, is_harmless=True
        )

    @property
    def _lanes(self) -> list[Lane]:
        return [lane for lane in self._schedule.lanes.values() if not lane.abandoned]
