"""What the client says that was not recorded, so that no agent waits for ever."""

import json
from typing import Any

from acp_proxy.commands import Send
from acp_proxy.engine.shared.divergence import ERROR_CODE, Divergence
from acp_proxy.protocol.permissions import is_draft, rejecting_option


def refusal(token: str | None, divergence: Divergence) -> Send:
    """The error that answers a request which was not recorded."""
    data = {
        "divergence": divergence.kind,
        "recorded": [miss.seq for miss in divergence.near_misses],
        "lane": divergence.lane,
    }
    error = {"code": ERROR_CODE, "message": f"verify: {divergence.summary}", "data": data}
    return _line(token, "error", error)


def cancelled(token: str | None, request: Any) -> Send:
    """The answer to a permission request in a turn that was cancelled, in the request's own form.

    Args:
        token: its id.
        request: decoded.
    """
    if is_draft(request):
        return _line(token, "result", {"granted": False})
    return _line(token, "result", {"outcome": {"outcome": "cancelled"}})


def denied(token: str | None, request: Any) -> Send:
    """The answer that gives no leave, in the request's own form.

    That is the option that rejects, or cancelled if there is none; in the 1.0 draft it is
    ``granted``, false.

    Args:
        token: its id.
        request: decoded.
    """
    option = rejecting_option(request)
    if option is None or is_draft(request):
        return cancelled(token, request)
    return _line(token, "result", {"outcome": {"outcome": "selected", "optionId": option}})


def content(token: str | None, text: str) -> Send:
    """The answer to the reading of a file."""
    return _line(token, "result", {"content": text})


def _line(token: str | None, name: str, value: dict[str, Any]) -> Send:
    """An answer; the id is a token, and stands there as the agent wrote it."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = f'{{"jsonrpc":"2.0","id":{token or "null"},"{name}":{body}}}\n'
    return Send(text.encode("utf-8", "backslashreplace"))
