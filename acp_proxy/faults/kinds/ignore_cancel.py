"""``ignore-cancel``: a cancellation is swallowed."""

from collections.abc import Iterable

from attrs import frozen

from acp_proxy.faults.chance import Chance
from acp_proxy.faults.effects import Effect
from acp_proxy.faults.fault import Fault, Passing


@frozen
class IgnoreCancel(Fault):
    """A cancellation, of a turn or of a request, never arrives."""

    kind = "ignore-cancel"

    def fits(self, frame: Passing) -> bool:
        """Cancellations of turns and of requests."""
        return frame.row["method"] in ("session/cancel", "$/cancel_request")

    def apply(self, frame: Passing, chance: Chance) -> Iterable[Effect]:  # noqa: ARG002
        """Lets nothing pass."""
        return ()

    def words(self) -> str:
        """Says what becomes of a frame."""
        return "never arrives, so that nothing is cancelled"
