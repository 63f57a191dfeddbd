"""``limit-data``: the direction ends after some bytes, in the middle of a frame perhaps."""

from collections.abc import Iterable

from attrs import field, frozen

from acp_proxy.faults.fault import Fault, PassingFrame, at_least
from acp_proxy.faults.fault_effects import CloseEffect, Effect


@frozen
class LimitDataFault(Fault):
    """The direction ends after a number of bytes."""

    kind = "limit-data"
    outcome = "is cut off at byte {bytes} of its direction, which ends there"

    bytes: int = field(default=1000, validator=at_least(0))
    """Counted from the start of the connection, as they were received."""

    def fits(self, frame: PassingFrame) -> bool:
        """Only the frame in which the last of the bytes is."""
        return frame.total + len(frame.delivery.data) > self.bytes

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Lets pass what fits, then closes the direction."""
        left = max(0, self.bytes - frame.total)
        if left:
            yield frame.delivery.with_data(frame.delivery.data[:left])
        yield CloseEffect(frame.direction)
