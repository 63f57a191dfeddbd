"""The base class of all kinds of faults, and the validators of their settings."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import attrs
from attrs import define, field

from acp_proxy.faults.chance import Chance
from acp_proxy.faults.effects import Delivery, Effect
from acp_proxy.protocol.peers import Direction

BOTH = (Direction.TO_AGENT, Direction.TO_CLIENT)
Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]


@define
class PassingFrame:
    """A frame on its way, or one of its copies, as a fault gets it.

    One object serves all rules and copies of a frame, since a new one for each is slow.
    """

    direction: Direction
    row: dict[str, Any]
    """What is known of the frame, with the names of the columns of `frames`."""
    newline: bytes
    """How its line ended."""
    total: int
    """Bytes that were received in its direction before it."""
    at: int
    """When it was received, monotonic nanoseconds."""
    delivery: Delivery
    """What the rules before this one have left of it; without pieces if nothing is left."""
    state: Any = None
    """What `Fault.new_state` has returned for this rule and direction."""
    chance: Chance = field(init=False)
    """The draws of this match; `apply` has them, `fits` does not."""


class Fault(ABC):
    """One kind of fault. A kind is an attrs class whose fields are its settings.

    Attributes:
        kind: its name in a plan.
        outcome: what becomes of a frame, as the end of a sentence that begins with it; a setting in
            braces stands for its value.
        needs_agent: whether it acts on the agent's process.
        has_side_effect: whether it does something else than change the frame, so that it also
            fires where the rules before it have left nothing of the frame.
        touches_both: whether it sends something in the other direction, or waits for a message
            there; then both directions pass through the engine.
    """

    kind: ClassVar[str]
    outcome: ClassVar[str]
    directions: ClassVar[tuple[Direction, ...]] = BOTH
    needs_agent: ClassVar[bool] = False
    has_side_effect: ClassVar[bool] = False
    touches_both: ClassVar[bool] = False

    def new_state(self) -> Any:
        """Returns what this kind keeps between frames, if it keeps anything.

        Called once for each rule and direction of a connection; `apply` finds it in
        `PassingFrame.state` and changes it in place. What a fault decides may depend on it, on the
        frame and on its chance, and on nothing else, so that the same frames give the same faults.
        """
        return None

    def fits(self, frame: PassingFrame) -> bool:  # noqa: ARG002
        """Whether this kind can do anything to a frame; if not, the frame is no match."""
        return True

    @abstractmethod
    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Yields what happens in place of a frame; the frame's delivery, to let it pass."""

    def describe(self) -> str:
        """Describes what becomes of a frame, as `outcome` does."""
        return self.outcome.format_map(attrs.asdict(self))  # type: ignore[arg-type]


class BadSetting(ValueError):
    """A setting has a value that is not valid."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name
        self.problem = problem


def at_least(lowest: float, most: float | None = None) -> Validator:
    """Returns a validator of a number; it also takes None, for a setting that may be left out.

    Args:
        lowest: the smallest valid number.
        most: the largest; None for no limit.
    """

    def check(_: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if value is None or (value >= lowest and (most is None or value <= most)):
            return
        bounds = f"from {lowest:g} on" if most is None else f"from {lowest:g} to {most:g}"
        raise BadSetting(attribute.name, f"expected a number {bounds}, got {value:g}")

    return check


def one_line(_: Any, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    """Refuses a text with a newline in it.

    Args:
        _: the object that has the setting.
        attribute: the setting.
        value: its value.
    """
    if value is not None and "\n" in value:
        raise BadSetting(attribute.name, f"expected one line, got {value!r}")


def plain_json(_: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Refuses a value that JSON cannot express, such as a date or an infinity of TOML.

    Args:
        _: the object that has the setting.
        attribute: the setting.
        value: its value.
    """
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise BadSetting(attribute.name, f"expected a JSON value, got {value!r}") from None
