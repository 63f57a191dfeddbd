"""Kinds of faults that concern requests, their replies and their cancellations."""

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from acp_proxy.faults.fault import (
    NS_PER_MS,
    BadSetting,
    Chance,
    Effect,
    Fault,
    PassingFrame,
    at_least,
    injected_line,
    plain_json,
)
from acp_proxy.protocol.dialects import DRAFT
from acp_proxy.protocol.typed_places import Place, spans, splice


@frozen
class ErrorReplyFault(Fault):
    """A request is answered with a JSON-RPC error, and never arrives."""

    kind = "error-reply"
    touches_both = True

    code: int = -32603
    """The code of the error."""
    message: str = "Internal error"
    """The message of the error."""
    data: Any = field(default=None, validator=plain_json)
    """The data of the error; omitted by default."""
    draft_code: int | None = None
    """The code in the 1.0 draft, which has other codes; `code` by default."""

    def fits(self, frame: PassingFrame) -> bool:
        """Accepts only requests."""
        return bool(frame.row["kind"] == "request")

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Answers the request with the error. Further copies of the request get no answer."""
        is_draft = frame.row.get("dialect") == DRAFT and self.draft_code is not None
        code = self.draft_code if is_draft else self.code
        error: dict[str, Any] = {"code": code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        body = json.dumps(error, ensure_ascii=False, separators=(",", ":"))
        line = f'{{"jsonrpc":"2.0","id":{frame.row["rpc_id"]},"error":{body}}}\n'
        yield injected_line(frame.direction.other, line.encode("utf-8", "backslashreplace"))

    def describe(self) -> str:
        """Describes what happens to a frame."""
        draft = "" if self.draft_code is None else f" (in draft-1.0 {self.draft_code})"
        return f"never arrives, and is answered with error {self.code}{draft}: {self.message}"


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
    """A reply goes wrong. `where` matches the reply; `method:` is the method of its request."""

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
            raise BadSetting("after_cancel", f"needs the mode 'late', not {self.mode.value!r}")

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
    """Returns a copy of a reply with an unknown id."""
    text = data.decode(errors="surrogateescape")
    token = str(1_000_000_000 + chance.below(1_000_000_000, "id"))
    ids = spans(text, {"id": Place.ID})
    return splice(text, [(span, token) for span in ids]).encode(errors="surrogateescape")


@frozen
class IgnoreCancelFault(Fault):
    """Cancellations of turns and of requests never arrive."""

    kind = "ignore-cancel"
    outcome = "never arrives, so that nothing is cancelled"

    def fits(self, frame: PassingFrame) -> bool:
        """Accepts cancellations of turns and of requests."""
        return frame.row["method"] in ("session/cancel", "$/cancel_request")

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:  # noqa: ARG002
        """Lets nothing pass."""
        return ()
