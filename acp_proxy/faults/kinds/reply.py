"""``reply``: a reply is late, comes twice, has another id, or has no request."""

from collections.abc import Iterable
from enum import StrEnum

from attrs import field, frozen

from acp_proxy.faults.fault import (
    NS_PER_MS,
    BadSetting,
    Chance,
    Effect,
    Fault,
    PassingFrame,
    at_least,
)
from acp_proxy.protocol.typed_places import Place, spans, splice


class ReplyMode(StrEnum):
    """The kinds of wrong replies."""

    LATE = "late"
    """The reply comes later, and later frames do not wait for it."""
    DOUBLE = "double"
    """The reply comes twice."""
    WRONG_ID = "wrong-id"
    """The reply has an unknown id, and the request stays unanswered."""
    ORPHAN = "orphan"
    """The reply is followed by a reply without a request."""


@frozen
class ReplyFault(Fault):
    """A reply goes wrong. `where` matches the reply, which has its request's method."""

    kind = "reply"
    touches_both = True

    mode: ReplyMode = ReplyMode.LATE
    """How the reply goes wrong."""
    latency_ms: float = field(default=1000.0, validator=at_least(0))
    """For `late`: how much later the reply comes."""
    after_cancel: bool = False
    """For `late`: the delay begins only when the client cancels the request or the turn."""

    def __attrs_post_init__(self) -> None:
        """Refuses settings that exclude each other."""
        if self.after_cancel and self.mode is not ReplyMode.LATE:
            raise BadSetting("after_cancel", f"expected mode late with it, got {self.mode.value}")

    def fits(self, frame: PassingFrame) -> bool:
        """Accepts only replies."""
        return frame.row["kind"] in ("response", "error")

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Delays, doubles or changes the reply."""
        match self.mode:
            case ReplyMode.LATE:
                later = frame.delivery.later(int(self.latency_ms * NS_PER_MS))
                yield later._replace(may_be_overtaken=True, until_cancel=self.after_cancel)
            case ReplyMode.DOUBLE:
                yield frame.delivery
                yield frame.delivery._replace(is_injected=True)
            case ReplyMode.WRONG_ID:
                yield frame.delivery.with_data(_with_id(frame.delivery.data, frame.chance))
            case ReplyMode.ORPHAN:
                yield frame.delivery
                data = _with_id(frame.delivery.data, frame.chance)
                yield frame.delivery.with_data(data)._replace(is_injected=True)

    def describe(self) -> str:
        """Describes what happens to a frame."""
        match self.mode:
            case ReplyMode.LATE if self.after_cancel:
                return f"arrives {self.latency_ms:g} ms after the message that gives up on it"
            case ReplyMode.LATE:
                return f"arrives {self.latency_ms:g} ms later, after all frames that come meanwhile"
            case ReplyMode.DOUBLE:
                return "arrives twice"
            case ReplyMode.WRONG_ID:
                return "has the id of no request"
            case ReplyMode.ORPHAN:
                return "arrives, and then a reply to no request"


def _with_id(data: bytes, chance: Chance) -> bytes:
    """Returns the same reply with an unknown id."""
    text = data.decode(errors="surrogateescape")
    token = str(1_000_000_000 + chance.below(1_000_000_000, "id"))
    ids = spans(text, {"id": Place.ID})
    return splice(text, [(span, token) for span in ids]).encode(errors="surrogateescape")
