"""``truncate``: the frame's end is cut off."""

from collections.abc import Iterable

from attrs import field, frozen

from acp_proxy.faults.chance import Chance
from acp_proxy.faults.effects import Effect
from acp_proxy.faults.fault import Fault, Passing
from acp_proxy.faults.settings import at_least


@frozen
class Truncate(Fault):
    """The frame's end is cut off."""

    kind = "truncate"

    keep_bytes: int = field(default=20, validator=at_least(0))
    """How many bytes arrive, the line's end not counted."""
    newline: bool = True
    """Whether the line still ends; else the next frame is glued to it."""

    def apply(self, frame: Passing, chance: Chance) -> Iterable[Effect]:  # noqa: ARG002
        """Cuts the frame."""
        data = frame.parcel.data
        line = data.removesuffix(b"\n").removesuffix(b"\r")
        end = data[len(line) :] if self.newline else b""
        yield frame.parcel.with_data(line[: self.keep_bytes] + end)

    def words(self) -> str:
        """Says what becomes of a frame."""
        end = "" if self.newline else ", and its line does not end"
        return f"is cut after {self.keep_bytes} bytes{end}"
