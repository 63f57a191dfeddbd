"""``limit-data``: the direction ends after some bytes, perhaps in the middle of a frame."""

from collections.abc import Iterable

from attrs import field, frozen

from acp_proxy.faults.fault import CloseEffect, Effect, Fault, PassingFrame, at_least


@frozen
class LimitDataFault(Fault):
    """The direction ends after a number of bytes."""

    kind = "limit-data"
    outcome = "is cut off at byte {bytes} of its direction, which ends there"

    bytes: int = field(default=1000, validator=at_least(0))
    """The number of bytes, counted as received since the start of the connection."""

    def fits(self, frame: PassingFrame) -> bool:
        """Accepts only the frame that contains the last of the bytes."""
        return frame.total + len(frame.delivery.data) > self.bytes

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Lets the bytes within the limit pass, then closes the direction."""
        left = max(0, self.bytes - frame.total)
        if left:
            yield frame.delivery.with_data(frame.delivery.data[:left])
        yield CloseEffect(frame.direction)
