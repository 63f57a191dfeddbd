"""``stderr-flood``: the agent's stderr gets many lines."""

from collections.abc import Iterable

from attrs import field, frozen

from acp_proxy.faults.fault import Effect, Fault, PassingFrame, StderrEffect, at_least


@frozen
class StderrFloodFault(Fault):
    """The agent's stderr gets many lines, and the frame passes."""

    kind = "stderr-flood"
    outcome = "passes, and {lines} lines appear on the agent's stderr"
    has_side_effect = True

    lines: int = field(default=10_000, validator=at_least(1, 1_000_000))
    """How many lines, each of about 30 bytes."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Writes the lines, and lets the frame pass."""
        text = "".join(f"stderr-flood line {n} of {self.lines}\n" for n in range(1, self.lines + 1))
        yield StderrEffect(text.encode())
        yield frame.delivery
