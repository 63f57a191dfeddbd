"""Pairs what the client sends with recorded messages, and notes which of them came out of order.

Sessions created by equal requests are interchangeable while equal messages came in both: if a
message has no match in its own session, but one in such a sibling, the two sessions are swapped.
"""

from acp_proxy.engine.agent.divergence_handler import DivergenceHandler
from acp_proxy.engine.agent.frame_scheduler import FrameScheduler
from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.message_comparison import ClientMessage, MessageComparer
from acp_proxy.engine.agent.message_matcher import MessageMatch, MessageMatcher
from acp_proxy.engine.agent.state import ReplayState
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.steps import Step


class MessagePairing:
    """Finds the recorded message of a live one, and takes the two for one message.

    Args:
        state: the state of the replay.
        scheduler: knows which frames have not gone out.
        matcher: finds matches.
        comparer: compares recorded messages with each other.
        divergences: notes what came early or late.
    """

    def __init__(
        self,
        state: ReplayState,
        scheduler: FrameScheduler,
        matcher: MessageMatcher,
        comparer: MessageComparer,
        divergences: DivergenceHandler,
    ) -> None:
        self._schedule = state.schedule
        self._bindings = state.bindings
        self._scheduler = scheduler
        self._matcher = matcher
        self._comparer = comparer
        self._divergences = divergences

    def find(self, live: ClientMessage) -> MessageMatch | None:
        """Finds the recorded message of a live one; swaps two sessions if it is in the other."""
        match = self._matcher.find(live)
        if match is not None:
            return match
        lane = self._matcher.lane_of(live.message.session)
        sibling = self._find_sibling(lane, live)
        if sibling is None or lane.name is None or sibling.name is None:
            return None
        self._bindings.swap_sessions(lane.name, sibling.name)
        return self._matcher.find(live)

    def pair(self, match: MessageMatch, live: ClientMessage) -> tuple[Lane, Step]:
        """Takes a live message for a recorded one.

        Args:
            match: the recorded message.
            live: the live one.

        Returns:
            the lane, and the recorded message in it.
        """
        self._schedule.read_to(match.step.seq)
        step = self._in_lane(match.step)
        lane = self._schedule.lanes[step.lane]
        what = f"{step.method} #{step.seq}"
        if step.is_required and self._scheduler.has_earlier_frames(step):
            summary = f"{what} came before what was recorded before it"
            self._divergences.note(DivergenceKind.EARLY, lane, summary, live, seq=step.seq)
        elif step.key in self._schedule.exempt.overdue:
            summary = f"{what} came when nobody waited for it any longer"
            self._divergences.note(DivergenceKind.LATE, lane, summary, live, seq=step.seq)
        self._schedule.match(step, live.at)
        return lane, step

    def _in_lane(self, step: Step) -> Step:
        """The same step as its lane has it; one that was looked up ahead is another object."""
        for lane in self._schedule.lanes.values():
            for known in lane.expected:
                if known.key == step.key:
                    return known
        return step

    def _find_sibling(self, lane: Lane, live: ClientMessage) -> Lane | None:
        """Finds a lane that is interchangeable with a message's lane and has the message."""
        if lane.name is None or lane.abandoned or lane.messages == 0:
            return None
        for other in self._schedule.live_lanes:
            if other is lane or other.name is None or not self._are_alike(lane, other):
                continue
            if (match := self._matcher.find(live, other)) is not None:
                return other if match.comparison.is_match else None
        return None

    def _are_alike(self, lane: Lane, other: Lane) -> bool:
        """Whether equal messages came in both lanes."""
        if lane.messages != other.messages or lane.messages != len(lane.played):
            return False
        pairs = zip(lane.played, other.played, strict=True)
        return all(self._comparer.are_alike(one, two) for one, two in pairs)
