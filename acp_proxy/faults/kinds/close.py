"""``close``: the direction is closed."""

from collections.abc import Iterable

from attrs import frozen

from acp_proxy.faults.fault import CloseEffect, Effect, Fault, PassingFrame


@frozen
class CloseFault(Fault):
    """The direction is closed in place of the frame, or after it."""

    kind = "close"
    has_side_effect = True

    keep_frame: bool = False
    """Whether the frame, as changed by earlier rules, still passes."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Closes the direction."""
        if self.keep_frame:
            yield frame.delivery
        yield CloseEffect(frame.direction)

    def describe(self) -> str:
        """Describes what happens to a frame."""
        if self.keep_frame:
            return "passes, and then its direction is closed"
        return "never arrives, and its direction is closed"
