"""``duplicate``: the frame arrives several times."""

from collections.abc import Iterable

from attrs import evolve, field, frozen

from acp_proxy.faults.chance import Chance
from acp_proxy.faults.effects import Effect
from acp_proxy.faults.fault import Fault, Passing
from acp_proxy.faults.settings import at_least


@frozen
class Duplicate(Fault):
    """The frame arrives several times."""

    kind = "duplicate"

    copies: int = field(default=2, validator=at_least(2, 10_000))
    """How often it arrives in all."""

    def apply(self, frame: Passing, chance: Chance) -> Iterable[Effect]:  # noqa: ARG002
        """Lets the frame pass, and its copies after it."""
        yield frame.parcel
        for _ in range(self.copies - 1):
            yield evolve(frame.parcel, is_injected=True)

    def words(self) -> str:
        """Says what becomes of a frame."""
        return "arrives twice" if self.copies == 2 else f"arrives {self.copies} times"
