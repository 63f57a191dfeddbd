"""``error-reply``: a request is not forwarded; its sender gets an error."""

import json
from collections.abc import Iterable
from typing import Any

from attrs import field, frozen

from acp_proxy.faults.fault import Effect, Fault, PassingFrame, injected_line, plain_json
from acp_proxy.protocol.dialects import DRAFT


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
        """Answers the request; copies of it go unanswered."""
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
