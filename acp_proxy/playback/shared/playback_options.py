"""The options common to replay and verify."""

from enum import StrEnum

from attrs import field, frozen

NS_PER_S = 10**9


class Order(StrEnum):
    """How much of the recorded order is kept."""

    SESSION = "session"
    RECORDED = "recorded"


@frozen
class Pacing:
    """How long frames wait. This changes neither which frames go out nor their order in a lane.

    A frame waits for a message of the peer or for the previous frame of its lane, and then for the
    recorded gap after that message or frame. So a person's time to think is not repeated.
    """

    factor: float = 0.0
    """The factor for recorded gaps: 0 is at once, 1 as recorded, 2 twice as slow."""
    cap_ns: int | None = None
    """The longest gap in nanoseconds; None for no limit."""

    @property
    def is_instant(self) -> bool:
        """Whether no frame ever waits."""
        return self.factor == 0

    def due(self, since_live: int, since_recorded: int, recorded: int) -> int:
        """Returns the earliest time when a frame may go out, in nanoseconds of the live clock.

        Args:
            since_live: when the awaited message or frame passed, in nanoseconds of the live clock.
            since_recorded: when the awaited message or frame passed in the recording.
            recorded: when the frame itself passed in the recording.
        """
        gap = int(max(0, recorded - since_recorded) * self.factor)
        if self.cap_ns is not None:
            gap = min(gap, self.cap_ns)
        return since_live + gap


@frozen(kw_only=True)
class PlaybackOptions:
    """How one side of a recording is played to a live peer."""

    order: Order = Order.SESSION
    pacing: Pacing = field(factory=Pacing)
    lenient: bool = False
    """Whether to continue where a strict playback abandons a session."""
    ignored: tuple[str, ...] = ()
    """JSON pointers to parts of the peer's messages that are not compared."""
    rewrite_text: bool = False
    """Whether to put the live directories into free text too."""
    stall_ns: int | None = 30 * NS_PER_S
    """Nanoseconds without progress that count as a stall; None for never."""
