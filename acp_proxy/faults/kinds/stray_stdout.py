"""``stray-stdout``: a line that is not ACP appears in the agent's output."""

from collections.abc import Iterable

from attrs import frozen

from acp_proxy.faults.fault import Effect, Fault, PassingFrame, injected_line
from acp_proxy.protocol.jsonrpc import Direction


@frozen
class StrayStdoutFault(Fault):
    """A line that is not ACP appears in the agent's output, before the frame."""

    kind = "stray-stdout"
    outcome = "arrives behind a stray line on stdout: {text}"
    directions = (Direction.TO_CLIENT,)
    has_side_effect = True

    text: str = "DEBUG: this is a log line on stdout"
    """The text of the line, or of several lines."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Yields the line, then lets the frame pass."""
        for line in self.text.removesuffix("\n").split("\n"):
            yield injected_line(
                Direction.TO_CLIENT, line.encode("utf-8", "backslashreplace") + b"\n"
            )
        yield frame.delivery
