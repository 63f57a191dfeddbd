"""``stall``: nothing more passes in a direction; the pipe stays open."""

from collections.abc import Iterable

from attrs import frozen

from acp_proxy.faults.chance import Chance
from acp_proxy.faults.effects import Effect
from acp_proxy.faults.effects import Stall as Stalled
from acp_proxy.faults.fault import Fault, Passing


@frozen
class Stall(Fault):
    """From this frame on nothing passes, and the pipe stays open."""

    kind = "stall"
    acts_beside = True

    keep_frame: bool = False
    """Whether the frame, or what is left of it, still passes."""

    def apply(self, frame: Passing, chance: Chance) -> Iterable[Effect]:  # noqa: ARG002
        """Keeps the frame back, and all that follow it."""
        if self.keep_frame:
            yield frame.parcel
        yield Stalled(frame.direction)

    def words(self) -> str:
        """Says what becomes of a frame."""
        passes = "passes, but" if self.keep_frame else "never arrives, and"
        return f"{passes} nothing after it in its direction does; the pipe stays open"
