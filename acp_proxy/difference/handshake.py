"""Compares the two handshakes, apart from everything else."""

from collections.abc import Iterator
from typing import Any

from acp_proxy.difference.explanation import TOO_DEEP, Messages, fields
from acp_proxy.difference.options import DiffOptions, Expect
from acp_proxy.difference.reduction import handshake
from acp_proxy.difference.result import Field
from acp_proxy.protocol.capabilities import CAPABILITIES
from acp_proxy.protocol.json_text import json_or_text
from acp_proxy.protocol.peers import Direction

_DIRECTIONS = {"request": Direction.TO_AGENT.value, "response": Direction.TO_CLIENT.value}
_RESULTS = ("protocolVersion", "agentCapabilities", "capabilities", "authMethods")
"""Members of the answer to ``initialize`` that count where only the outcome does."""


def handshake_fields(a: Messages, b: Messages, options: DiffOptions) -> Iterator[Field]:
    """Yields the places in which ``initialize`` differs, and its answer.

    Args:
        a: the messages of A.
        b: the messages of B.
        options: what is compared.
    """
    for part, direction in _DIRECTIONS.items():
        if options.only not in (None, direction):
            continue
        if part == "request" and options.expect is Expect.OUTCOME:
            continue
        try:
            yield from _part_fields(a, b, part, options)
        except RecursionError:
            yield TOO_DEEP


def _part_fields(a: Messages, b: Messages, part: str, options: DiffOptions) -> Iterator[Field]:
    in_a, in_b = part in a.side.handshake, part in b.side.handshake
    message_a, message_b = _message(a, part, options), _message(b, part, options)
    if in_a != in_b:
        yield Field("", message_a, message_b, "a" if in_a else "b")
    elif in_a:
        if not options.exact:
            _fill_in(message_a, message_b)
            _fill_in(message_b, message_a)
        yield from fields(message_a, message_b)


def _message(side: Messages, part: str, options: DiffOptions) -> Any:
    seq = side.side.handshake.get(part)
    if seq is None:
        return None
    message = json_or_text(b"".join(side.reader.pieces(seq)))
    if not options.exact:
        message = handshake(message)
    if options.expect is Expect.OUTCOME and isinstance(message, dict):
        message = _outcome(message)
    if options.exact:
        return message
    if isinstance(message, dict):
        message.pop("id", None)
    return side.named(message, None)


def _outcome(message: dict[str, Any]) -> dict[str, Any]:
    result = message.get("result")
    message = {"error": True} if "error" in message else {"result": result}
    if isinstance(result, dict):
        message["result"] = {name: result[name] for name in _RESULTS if name in result}
    return message


def _fill_in(one: Any, other: Any) -> None:
    """Adds empty objects of capabilities to a message where only the other one has them.

    A peer without capabilities may leave the object out; then the single capabilities differ, and
    not the whole object.
    """
    for half in ("params", "result"):
        inner, others = (m.get(half) if isinstance(m, dict) else None for m in (one, other))
        if isinstance(inner, dict) and isinstance(others, dict):
            for name in CAPABILITIES:
                if isinstance(others.get(name), dict):
                    inner.setdefault(name, {})
