"""What every kind of fault is: settings, and one decision."""

from collections.abc import Iterable
from typing import Any, ClassVar

from attrs import frozen

from acp_proxy.faults.chance import Chance
from acp_proxy.faults.effects import Delivery, Effect
from acp_proxy.protocol.peers import Direction

BOTH = (Direction.TO_AGENT, Direction.TO_CLIENT)


@frozen
class PassingFrame:
    """A frame on its way, as a fault sees it.

    Attributes:
        row: what is known of it, with the names of the columns of `frames`.
        delivery: what is left of it after the faults before this one; without pieces if nothing is.
        newline: how its line ended.
        total: bytes that were received in its direction before it.
    """

    row: dict[str, Any]
    delivery: Delivery
    newline: bytes
    total: int

    @property
    def direction(self) -> Direction:
        """Where the frame was going."""
        return Direction(self.row["stream"])


class Fault:
    """One kind of fault. A kind is an attrs class whose fields are its settings.

    Attributes:
        kind: its name in a plan.
        directions: in which directions it makes sense.
        needs_agent: whether it acts on the agent's process.
        has_side_effect: whether it does something else than change the frame, so that it also fires
            where the rules before it have left nothing of the frame.
    """

    kind: ClassVar[str]
    directions: ClassVar[tuple[Direction, ...]] = BOTH
    needs_agent: ClassVar[bool] = False
    has_side_effect: ClassVar[bool] = False

    def fits(self, frame: PassingFrame) -> bool:  # noqa: ARG002
        """Whether this kind can do anything to a frame; those that it cannot are no matches."""
        return True

    def apply(self, frame: PassingFrame, chance: Chance) -> Iterable[Effect]:
        """Says what happens in place of a frame; the frame itself, to let it pass."""
        raise NotImplementedError

    def describe(self) -> str:
        """Says what becomes of a frame, as the end of a sentence that begins with it."""
        raise NotImplementedError
