"""``noop``: nothing happens; the frame passes byte for byte."""

from collections.abc import Iterable

from attrs import frozen

from acp_proxy.faults.fault import Effect, Fault, PassingFrame


@frozen
class NoopFault(Fault):
    """Nothing happens."""

    kind = "noop"
    outcome = "passes as it is"

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Lets the frame pass."""
        yield frame.delivery
