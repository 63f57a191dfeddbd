"""Writes the engine's own messages: answers to requests that have no recorded answer.

Without them a client would wait for an answer that was not recorded.
"""

import json

from acp_proxy.commands import Send
from acp_proxy.engine.shared.divergence import ERROR_CODE, Divergence
from acp_proxy.engine.shared.line_rewriter import reply
from acp_proxy.protocol.updates import UPDATE

_CANCELLED_CODE = -32800
"""Of the error that answers a request which ``$/cancel_request`` has cancelled."""
PARSE_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n'


def refusal(token: str | None, divergence: Divergence) -> Send:
    """Returns the error that answers a request after a divergence.

    Args:
        token: the request's live id, as JSON; None for ``null``.
        divergence: what the error describes.
    """
    return _error(token, ERROR_CODE, divergence.summary, divergence)


def cancelled_request(token: str, divergence: Divergence) -> Send:
    """Returns the error that answers a request with an unrecorded cancellation.

    Args:
        token: the request's live id, as JSON.
        divergence: what the error describes.
    """
    return _error(token, _CANCELLED_CODE, "cancelled", divergence)


def cancelled_answer(token: str, *, is_v2: bool) -> Send:
    """Returns the answer to a prompt with an unrecorded cancellation.

    Args:
        token: the request's live id, as JSON.
        is_v2: whether the answer only accepts the prompt, and an update ends the turn.
    """
    return reply(token, {} if is_v2 else {"stopReason": "cancelled"})


def received(token: str) -> Send:
    """Returns the answer to a piece of a terminal's output, in the 1.0 draft."""
    return reply(token, {"received": True})


def cancelled_update(session: str) -> Send:
    """Returns the update that ends a turn in v2."""
    update = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "cancelled"}
    params = json.dumps({"sessionId": session, "update": update}, separators=(",", ":"))
    return Send(f'{{"jsonrpc":"2.0","method":"{UPDATE}","params":{params}}}\n'.encode())


def _error(token: str | None, code: int, message: str, divergence: Divergence) -> Send:
    data = {
        "divergence": divergence.kind,
        "recorded": divergence.seq,
        "lane": divergence.lane,
        "differences": [
            {"pointer": one.pointer, "recorded": one.recorded, "live": one.live}
            for one in divergence.closest
        ],
    }
    error = {"code": code, "message": f"replay: {message}", "data": data}
    return reply(token, error, "error")
