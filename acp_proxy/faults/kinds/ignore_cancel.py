"""``ignore-cancel``: a cancellation is swallowed."""

from collections.abc import Iterable

from attrs import frozen

from acp_proxy.faults.fault import Effect, Fault, PassingFrame


@frozen
class IgnoreCancelFault(Fault):
    """Cancellations of turns and of requests never arrive."""

    kind = "ignore-cancel"
    outcome = "never arrives, so that nothing is cancelled"

    def fits(self, frame: PassingFrame) -> bool:
        """Accepts cancellations of turns and of requests."""
        return frame.row["method"] in ("session/cancel", "$/cancel_request")

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:  # noqa: ARG002
        """Lets nothing pass."""
        return ()
