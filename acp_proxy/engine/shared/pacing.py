"""When a frame is due; never whether, and never in which order within a lane.

A frame follows what it waited for last, the client's message or the frame before it in its lane,
after the gap that was recorded between the two. What a person thought about is not waited for
again, since the gap is counted from the live message.
"""

from attrs import frozen

NS_PER_S = 10**9


@frozen
class Pacing:
    """How fast a recording is played.

    Attributes:
        factor: of recorded gaps: 0 is at once, 1 as recorded, 2 twice as slow.
        fixed_ns: a gap for all frames, instead; None for the recorded ones.
        cap_ns: the longest gap, if there is one.
    """

    factor: float = 0.0
    fixed_ns: int | None = None
    cap_ns: int | None = None

    @property
    def is_instant(self) -> bool:
        """Whether nothing ever waits."""
        return self.factor == 0 and not self.fixed_ns

    def due(self, since_live: int, since_recorded: int, recorded: int) -> int:
        """Returns when a frame may go out.

        Args:
            since_live: when its predecessor or anchor passed, in nanoseconds of the live clock.
            since_recorded: when that one passed in the recording.
            recorded: when the frame itself passed there.
        """
        gap = self.fixed_ns
        if gap is None:
            gap = int(max(0, recorded - since_recorded) * self.factor)
        if self.cap_ns is not None:
            gap = min(gap, self.cap_ns)
        return since_live + gap
