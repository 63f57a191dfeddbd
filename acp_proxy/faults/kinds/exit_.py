"""``exit``: the agent appears to exit with a code."""

from collections.abc import Iterable

from attrs import field, frozen

from acp_proxy.faults.fault import Effect, ExitEffect, Fault, PassingFrame, at_least


@frozen
class ExitFault(Fault):
    """The agent appears to exit, in place of the frame or after it."""

    kind = "exit"
    has_side_effect = True

    code: int = field(default=1, validator=at_least(0, 255))
    """The exit code."""
    keep_frame: bool = False
    """Whether the frame, as changed by earlier rules, still passes."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Ends the agent."""
        if self.keep_frame:
            yield frame.delivery
        yield ExitEffect(self.code)

    def describe(self) -> str:
        """Describes what happens to a frame."""
        passes = "passes" if self.keep_frame else "never arrives"
        return f"{passes}, and the agent exits with {self.code}"
