"""Decides how long the client waits for messages that the agent need not send."""

from acp_proxy.engine.client.lane import ClientFrame
from acp_proxy.engine.shared.playback_options import NS_PER_S

_SETTLE_NS, _TIMES = 5 * NS_PER_S, 5
"""The least silence after which the client does not wait for optional messages; and the same as a
multiple of the recorded silence."""
_ANSWER_NS, _LATE_ANSWER_NS = NS_PER_S, 5 * NS_PER_S
"""The same for an answer, since the agent may wait for it; and for one that was recorded late."""
_MANY_TIMES = 10
"""How many times as long the client waits while the agent sends other messages."""
_WITHOUT_STALL_NS = 300 * NS_PER_S
"""What counts as a stall for these limits, if there is no limit for stalls."""


class Patience:
    """Keeps the time of a verification, in nanoseconds; `stall_ns` of silence are a stall."""

    def __init__(self, stall_ns: int | None) -> None:
        self.now = 0
        """The moment of the latest event."""
        self.last_activity = 0
        """When either side last sent anything."""
        self.pauses: list[tuple[int, int]] = []
        """From when to when a frame was held back for messages that have never come."""
        # Less than a stall, so that waiting for optional messages is never taken for one.
        self._longest = (_WITHOUT_STALL_NS if stall_ns is None else stall_ns) * 9 // 10

    @property
    def silence(self) -> int:
        """How long neither side has sent anything."""
        return self.now - self.last_activity

    def note_activity(self) -> None:
        """Notes that either side has sent something."""
        self.last_activity = self.now

    def after_silence(self, silence_ns: int) -> int:
        """Returns how long to wait for what the recorded agent sent after a silence."""
        return min(max(_SETTLE_NS, _TIMES * silence_ns), self._longest)

    def of_answer(self, silence_ns: int) -> tuple[int, int]:
        """Returns how long an answer waits for its place: in silence, and in all."""
        late = min(_MANY_TIMES * silence_ns, _LATE_ANSWER_NS)
        silence = min(max(_ANSWER_NS, 2 * silence_ns, late), self._longest)
        return silence, _MANY_TIMES * silence

    def deadline(self, frame: ClientFrame) -> int:
        """Returns when a frame stops waiting for optional messages, if nothing comes until then.

        While a turn is open, the agent has more to send; only a stall would prove the opposite.
        """
        is_open = frame.lane.turns.is_open
        longest = self._longest if is_open else self.after_silence(frame.before.silence_ns)
        return min(self.last_activity + longest, _waits_since(frame) + _MANY_TIMES * longest)

    def reason(self, frame: ClientFrame) -> str:
        """Returns why a frame stops waiting for optional messages, in a few words."""
        if self._is_silent(frame):
            return f"nothing came for {self.silence / NS_PER_S:.1f} s"
        return f"other things came for {(self.now - _waits_since(frame)) / NS_PER_S:.1f} s"

    def note_pause(self, frame: ClientFrame) -> None:
        """Notes since when a frame that is sent now was held back for what has never come."""
        start = self.last_activity if self._is_silent(frame) else _waits_since(frame)
        if start < self.now:
            self.pauses.append((start, self.now))

    def _is_silent(self, frame: ClientFrame) -> bool:
        """Whether a frame waited in silence for most of the time."""
        return self.silence * _MANY_TIMES >= self.now - _waits_since(frame)


def _waits_since(frame: ClientFrame) -> int:
    """Since when a frame waits although its lane makes no progress."""
    return max(frame.waits_since or 0, frame.lane.progress.grew_at)
