"""Describes a frame in one line, such as the text of a prompt, or a tool call and its status.

`describe` chooses the words. This module parses the frame, and makes the line safe to print.
"""

from typing import Any

from acp_proxy.base.limits import LINE_EDGE, PREVIEWED_LINE, SHOWN_LINE
from acp_proxy.base.wording import byte_size, plain
from acp_proxy.explain.describe.error_texts import describe_error
from acp_proxy.explain.describe.method_texts import describe_batch, describe_params, describe_result
from acp_proxy.explain.describe.phrases import beginning, without_base64, word
from acp_proxy.explain.describe.tool_texts import permission_result
from acp_proxy.explain.hints import NONE, Hints
from acp_proxy.protocol.json_text import parse_or_begin
from acp_proxy.protocol.tool_calls import NAMES, call_of

_DECODED = 4 * SHOWN_LINE
_UNFORESEEN = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError)
"""Errors that a describer may raise for a message of an unexpected shape. In this case, the line
itself is shown."""


def preview(
    raw: bytes,
    kind: str,
    method: str | None,
    parse_error: str | None = None,
    hints: Hints = NONE,
    *,
    size: int | None = None,
) -> str:
    """Describes a frame by its content. Never raises.

    Returns:
        One line of at most 2000 characters, without control characters and without base64.

    Args:
        raw: the line as it was received, or its beginning.
        kind: the frame's kind.
        method: the method of the frame, or of the request that the frame answers.
        parse_error: why the line is not a message.
        hints: facts about the frame that are in other frames.
        size: the number of bytes in the whole line; None if ``raw`` is the whole line.
    """
    size = size or len(raw)
    if kind in ("stderr", "blank"):
        return one_line(_decoded(raw))
    if kind == "invalid":
        reason = f"({parse_error}) " if parse_error else ""
        return one_line(f"{reason}{_decoded(raw[:400])}")
    cut = f"[the first 64 kB of {byte_size(size)}] " if size > PREVIEWED_LINE else ""
    message = parse_or_begin(raw if len(raw) <= PREVIEWED_LINE else raw[:LINE_EDGE], LINE_EDGE)
    try:
        return one_line(cut + _meaning(message, kind, method, hints))
    except _UNFORESEEN:
        return one_line(cut + _decoded(raw[:400]))


def _meaning(message: object, kind: str, method: str | None, hints: Hints) -> str:
    if isinstance(message, list):
        return describe_batch(message)
    if not isinstance(message, dict):
        raise TypeError("no message")
    if kind == "error":
        return describe_error(message.get("error"), hints.dialect)
    if kind == "response":
        result = message.get("result")
        if hints.asked is not None and isinstance(result, dict):
            return permission_result(result, hints.asked)
        return describe_result(method, result)
    params = message.get("params")
    if hints.title and isinstance(params, dict):
        _entitle(params, hints.title)
    return describe_params(method, params)


def _entitle(params: dict[str, Any], title: str) -> None:
    """Adds the announced title of a tool call to params that contain no title or name for it."""
    call = call_of(params)
    if not call and "toolCallId" in params:  # draft-1.0
        call = params["toolCall"] = {}
    if not word(call, *NAMES):
        call["title"] = title


def _decoded(raw: bytes) -> str:
    """Decodes the beginning of a line. A last character that lost some of its bytes is left out."""
    if len(raw) <= _DECODED:
        return raw.decode(errors="replace")
    return raw[:_DECODED].decode(errors="replace").removesuffix("\ufffd")


def one_line(text: str) -> str:
    """Returns the beginning of a text as one line that is safe to print, without base64."""
    return plain(without_base64(beginning(text, 2 * SHOWN_LINE)))
