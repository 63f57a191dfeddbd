"""``stall``: nothing more passes in a direction; the pipe stays open."""

from collections.abc import Iterable

from attrs import frozen

from acp_proxy.faults.fault import Effect, Fault, PassingFrame, StallEffect


@frozen
class StallFault(Fault):
    """From this frame on nothing passes, and the pipe stays open."""

    kind = "stall"
    has_side_effect = True

    keep_frame: bool = False
    """Whether the frame, as changed by earlier rules, still passes."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Holds back the frame and all later frames."""
        if self.keep_frame:
            yield frame.delivery
        yield StallEffect(frame.direction)

    def describe(self) -> str:
        """Describes what happens to a frame."""
        passes = "passes, but" if self.keep_frame else "never arrives, and"
        return f"{passes} nothing after it in its direction does; the pipe stays open"
