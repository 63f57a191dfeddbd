"""``stray-stdout``: a line that is not ACP appears in the agent's output."""

from collections.abc import Iterable

from attrs import frozen

from acp_proxy.faults.chance import Chance
from acp_proxy.faults.effects import Effect, made_up
from acp_proxy.faults.fault import Fault, Passing
from acp_proxy.protocol.peers import Direction


@frozen
class StrayStdout(Fault):
    """A line that is not ACP appears in the agent's output, before the frame."""

    kind = "stray-stdout"
    directions = (Direction.TO_CLIENT,)
    acts_beside = True

    text: str = "DEBUG: this is a log line on stdout"
    """What it says; it may be several lines."""

    def apply(self, frame: Passing, chance: Chance) -> Iterable[Effect]:  # noqa: ARG002
        """Says the line, then lets the frame pass."""
        for line in self.text.removesuffix("\n").split("\n"):
            yield made_up(Direction.TO_CLIENT, line.encode("utf-8", "backslashreplace") + b"\n")
        yield frame.parcel

    def words(self) -> str:
        """Says what becomes of a frame."""
        return f"arrives behind a stray line on stdout: {self.text}"
