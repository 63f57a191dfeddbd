"""``drop``: the frame never arrives."""

from collections.abc import Iterable

from attrs import frozen

from acp_proxy.faults.fault import Effect, Fault, PassingFrame


@frozen
class DropFault(Fault):
    """The frame never arrives."""

    kind = "drop"
    outcome = "never arrives"

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:  # noqa: ARG002
        """Lets nothing pass."""
        return ()
