"""``reply``: a reply goes wrong: it is late, comes twice, has another id, or no request."""

from collections.abc import Iterable
from enum import StrEnum

from attrs import evolve, field, frozen

from acp_proxy.faults.chance import Chance
from acp_proxy.faults.effects import NS_PER_MS, Effect
from acp_proxy.faults.fault import Fault, Passing
from acp_proxy.faults.settings import BadSetting, at_least
from acp_proxy.protocol.splice import Place, spans, splice


class Mode(StrEnum):
    """What is wrong with the reply."""

    LATE = "late"
    """It comes later, and what is behind it does not wait for it."""
    DOUBLE = "double"
    """It comes twice."""
    WRONG_ID = "wrong-id"
    """It has the id of no request, and the request stays unanswered."""
    ORPHAN = "orphan"
    """After it comes one that nobody has asked for."""


@frozen
class Reply(Fault):
    """A reply goes wrong. `where` is asked of the reply, which has its request's method."""

    kind = "reply"

    mode: Mode = Mode.LATE
    """What is wrong with it."""
    latency_ms: float = field(default=1000.0, validator=at_least(0))
    """For `late`: how much later it comes."""
    after_cancel: bool = False
    """For `late`: it waits for the cancellation that gives up on it, and only then so long."""

    def __attrs_post_init__(self) -> None:
        """Refuses settings that do not go together."""
        if self.after_cancel and self.mode is not Mode.LATE:
            raise BadSetting("after_cancel", f"expected mode late with it, got {self.mode.value}")

    def fits(self, frame: Passing) -> bool:
        """Only a reply."""
        return frame.row["kind"] in ("response", "error")

    def apply(self, frame: Passing, chance: Chance) -> Iterable[Effect]:
        """Spoils the reply."""
        match self.mode:
            case Mode.LATE:
                later = frame.parcel.later(int(self.latency_ms * NS_PER_MS))
                yield evolve(later, is_apart=True, until_cancel=self.after_cancel)
            case Mode.DOUBLE:
                yield frame.parcel
                yield evolve(frame.parcel, is_injected=True)
            case Mode.WRONG_ID:
                yield frame.parcel.with_data(_with_id(frame.parcel.data, chance))
            case Mode.ORPHAN:
                yield frame.parcel
                data = _with_id(frame.parcel.data, chance)
                yield evolve(frame.parcel.with_data(data), is_injected=True)

    def words(self) -> str:
        """Says what becomes of a frame."""
        match self.mode:
            case Mode.LATE if self.after_cancel:
                return f"arrives {self.latency_ms:g} ms after what gives up on it"
            case Mode.LATE:
                return f"arrives {self.latency_ms:g} ms later, behind what comes meanwhile"
            case Mode.DOUBLE:
                return "arrives twice"
            case Mode.WRONG_ID:
                return "has the id of no request"
            case Mode.ORPHAN:
                return "arrives, and then one that nobody has asked for"


def _with_id(data: bytes, chance: Chance) -> bytes:
    """The same reply to a request that nobody has made."""
    text = data.decode(errors="surrogateescape")
    token = str(1_000_000_000 + chance.below(1_000_000_000, "id"))
    found = spans(text, {"id": Place.ID})
    return splice(text, [(span, token) for span in found]).encode(errors="surrogateescape")
