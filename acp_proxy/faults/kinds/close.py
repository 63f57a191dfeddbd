"""``close``: the direction is closed."""

from collections.abc import Iterable

from attrs import frozen

from acp_proxy.faults.chance import Chance
from acp_proxy.faults.effects import Close as Closed
from acp_proxy.faults.effects import Effect
from acp_proxy.faults.fault import Fault, Passing


@frozen
class Close(Fault):
    """The direction is closed in place of the frame, or after it."""

    kind = "close"
    acts_beside = True

    keep_frame: bool = False
    """Whether the frame, or what is left of it, still passes."""

    def apply(self, frame: Passing, chance: Chance) -> Iterable[Effect]:  # noqa: ARG002
        """Closes the direction."""
        if self.keep_frame:
            yield frame.parcel
        yield Closed(frame.direction)

    def words(self) -> str:
        """Says what becomes of a frame."""
        if self.keep_frame:
            return "passes, and then its direction is closed"
        return "never arrives, and its direction is closed"
