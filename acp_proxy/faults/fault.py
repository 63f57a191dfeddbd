"""The base class of all kinds of faults, their randomness, and validators of their settings."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

import attrs
from attrs import define, field

from acp_proxy.faults.fault_effects import Delivery, Effect
from acp_proxy.protocol.peers import Direction

_BITS = 53  # the precision of a float


class Chance(NamedTuple):
    """The random draws of one match of one rule; they depend only on the rule's own matches.

    ``u = H(seed, rule, scope, number of the match in the scope)``. A draw never changes another
    draw. So a rule that is added to a plan does not change the faults of other rules, and it does
    not matter how sessions interleave.
    """

    seed: int
    rule: str
    scope: str
    """The counter scope of the match; see `faults.triggers`."""
    match: int
    """The number of the match in the scope, from 1."""

    def draw(self, what: str = "") -> float:
        """Returns a number from 0 to below 1; the same number for the same ``what``."""
        key = "\0".join((str(self.seed), self.rule, self.scope, str(self.match), what))
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return (int.from_bytes(digest) >> (64 - _BITS)) / (1 << _BITS)

    def below(self, limit: int, what: str = "") -> int:
        """Returns a whole number from 0 to below a limit.

        Args:
            limit: the smallest number that is too large.
            what: the purpose of the number, as in `draw`.
        """
        return int(self.draw(what) * limit)

    def between(self, low: float, high: float) -> float:
        """Returns a number from ``low`` to below ``high``.

        Args:
            low: the smallest number.
            high: the smallest number that is too large.
        """
        return low + self.draw() * (high - low)


BOTH = (Direction.TO_AGENT, Direction.TO_CLIENT)
Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]


@define
class PassingFrame:
    """A frame that is being forwarded, or a copy of it, as given to a fault.

    The same object is used for all rules and copies of a frame, since creating objects is slow.
    """

    direction: Direction
    row: dict[str, Any]
    """The properties of the frame, by the names of the columns of `frames`."""
    newline: bytes
    """The line ending of the frame."""
    total: int
    """The number of bytes that were received in this direction before the frame."""
    at: int
    """When the frame was received, in monotonic nanoseconds."""
    delivery: Delivery
    """The frame as changed by earlier rules; without pieces if nothing is left."""
    state: Any = None
    """The value of `Fault.new_state` for this rule and direction."""
    chance: Chance = field(init=False)
    """The draws of this match; set for `apply`, but not for `fits`."""


class Fault(ABC):
    """One kind of fault. A kind is an attrs class whose fields are its settings.

    Attributes:
        kind: the name of the kind in a plan.
        outcome: what happens to a frame, as a phrase that follows "the frame"; the name of a
            setting in braces is replaced by its value.
        directions: the directions in which the kind can be used.
        has_side_effect: whether the kind does more than change the frame; such a kind also fires if
            earlier rules have left nothing of the frame.
        touches_both: whether the kind sends lines or waits for messages in the other direction;
            then both directions pass through the engine.
    """

    kind: ClassVar[str]
    outcome: ClassVar[str]
    directions: ClassVar[tuple[Direction, ...]] = BOTH
    has_side_effect: ClassVar[bool] = False
    touches_both: ClassVar[bool] = False

    def new_state(self) -> Any:
        """Returns the state that this kind keeps between frames, or None if it keeps none.

        Called once for each rule and direction of a connection. `apply` finds the state in
        `PassingFrame.state` and changes it in place. The decisions of a fault may depend only on
        the state, the frame and its chance, so that the same frames give the same faults.
        """
        return None

    def fits(self, frame: PassingFrame) -> bool:  # noqa: ARG002
        """Whether this kind can do anything to a frame; if not, the frame does not match."""
        return True

    @abstractmethod
    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Returns the effects that replace a frame; its own delivery if it passes unchanged."""

    def describe(self) -> str:
        """Returns `outcome` with the values of the settings."""
        return self.outcome.format_map(attrs.asdict(self))  # type: ignore[arg-type]


class BadSetting(ValueError):
    """Raised when a setting has a value that is not valid."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name
        self.problem = problem


def at_least(lowest: float, most: float | None = None) -> Validator:
    """Returns a validator of a number; it also accepts None, for a setting that may be left out.

    Args:
        lowest: the smallest valid number.
        most: the largest valid number; None for no limit.
    """

    def check(_: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if value is None or (value >= lowest and (most is None or value <= most)):
            return
        bounds = f"from {lowest:g} on" if most is None else f"from {lowest:g} to {most:g}"
        raise BadSetting(attribute.name, f"expected a number {bounds}, got {value:g}")

    return check


def one_line(_: Any, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    """Raises `BadSetting` if a text has a newline.

    Args:
        _: the object that has the setting.
        attribute: the setting.
        value: its value.
    """
    if value is not None and "\n" in value:
        raise BadSetting(attribute.name, f"expected one line, got {value!r}")


def plain_json(_: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Raises `BadSetting` if JSON cannot express a value, such as a date or an infinity of TOML.

    Args:
        _: the object that has the setting.
        attribute: the setting.
        value: its value.
    """
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise BadSetting(attribute.name, f"expected a JSON value, got {value!r}") from None
