"""Makes answers that were not recorded, so that no agent waits for ever."""

import json
from typing import Any

from acp_proxy.commands import Send
from acp_proxy.engine.shared.divergence import ERROR_CODE, Divergence
from acp_proxy.protocol.permissions import is_draft, rejecting_option


def refusal(token: str | None, divergence: Divergence) -> Send:
    """Returns the error that answers a request which was not recorded.

    Args:
        token: its id.
        divergence: the reason.
    """
    data = {
        "divergence": divergence.kind,
        "recorded": [miss.seq for miss in divergence.near_misses],
        "lane": divergence.lane,
    }
    error = {"code": ERROR_CODE, "message": f"verify: {divergence.summary}", "data": data}
    return _line(token, "error", error)


def cancelled(token: str | None, request: Any) -> Send:
    """Returns the answer to a permission request of a cancelled turn, in its dialect.

    Args:
        token: its id.
        request: decoded.
    """
    if is_draft(request):
        return _line(token, "result", {"granted": False})
    return _line(token, "result", {"outcome": {"outcome": "cancelled"}})


def denied(token: str | None, request: Any) -> Send:
    """Returns the answer that denies permission, in the dialect of the request.

    It selects the option that rejects, or is ``cancelled`` if there is none; in the 1.0 draft it is
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
    """Returns the answer to a request for the contents of a file.

    Args:
        token: its id.
        text: the contents.
    """
    return _line(token, "result", {"content": text})


def _line(token: str | None, name: str, value: dict[str, Any]) -> Send:
    """An answer, whose id is spelled as in the request."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = f'{{"jsonrpc":"2.0","id":{token or "null"},"{name}":{body}}}\n'
    return Send(text.encode("utf-8", "backslashreplace"))
