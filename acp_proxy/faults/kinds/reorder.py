"""``reorder``: the frame is held until some later frames of its direction have come."""

from collections.abc import Iterable

from attrs import field, frozen

from acp_proxy.faults.fault import Effect, Fault, PassingFrame, at_least


@frozen
class ReorderFault(Fault):
    """The frame goes out after later frames."""

    kind = "reorder"

    after_frames: int = field(default=1, validator=at_least(1))
    """How many later frames to wait for; a frame counts when it is received, even if it is held."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Holds the frame back; at the end of the stream it goes out anyway."""
        yield frame.delivery._replace(
            behind_frames=frame.delivery.behind_frames + self.after_frames
        )

    def describe(self) -> str:
        """Describes what happens to a frame."""
        later = "the next one" if self.after_frames == 1 else f"the next {self.after_frames}"
        return f"goes out behind {later} of its direction"
