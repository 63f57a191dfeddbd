"""``duplicate``: the frame arrives several times."""

from collections.abc import Iterable

from attrs import field, frozen

from acp_proxy.faults.fault import Effect, Fault, PassingFrame, at_least


@frozen
class DuplicateFault(Fault):
    """The frame arrives several times."""

    kind = "duplicate"

    copies: int = field(default=2, validator=at_least(2, 10_000))
    """How often the frame arrives in total."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Lets the frame pass, and its copies after it."""
        yield frame.delivery
        for _ in range(self.copies - 1):
            yield frame.delivery._replace(is_injected=True)

    def describe(self) -> str:
        """Describes what happens to a frame."""
        return "arrives twice" if self.copies == 2 else f"arrives {self.copies} times"
