"""``truncate``: the frame's end is cut off."""

from collections.abc import Iterable

from attrs import field, frozen

from acp_proxy.faults.fault import Effect, Fault, PassingFrame, at_least


@frozen
class TruncateFault(Fault):
    """The frame's end is cut off."""

    kind = "truncate"

    keep_bytes: int = field(default=20, validator=at_least(0))
    """How many bytes of the line arrive, without its newline."""
    newline: bool = True
    """Whether the newline is kept; otherwise the next frame continues the line."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Cuts the frame."""
        data = frame.delivery.data
        line = data.removesuffix(b"\n").removesuffix(b"\r")
        end = data[len(line) :] if self.newline else b""
        yield frame.delivery.with_data(line[: self.keep_bytes] + end)

    def describe(self) -> str:
        """Describes what happens to a frame."""
        end = "" if self.newline else ", and its line does not end"
        return f"is cut after {self.keep_bytes} bytes{end}"
