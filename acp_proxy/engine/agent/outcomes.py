"""Classifies the outcome of a client's reply; a replay diverges when the class differs.

An agent that was allowed to write goes on otherwise than one that was refused. The content of a
file, or the output of a program, may differ without a divergence.
"""

from typing import Any

from acp_proxy.protocol.methods import PERMISSION
from acp_proxy.protocol.permissions import PermissionAnswer, options_of, read_answer

Outcome = tuple[str, ...]
CANCELLED: Outcome = ("cancelled",)


def outcome(method: str | None, asked: Any, reply: Any) -> Outcome:
    """Classifies a reply.

    Args:
        method: of the request.
        asked: the request as it was sent, decoded.
        reply: the reply, decoded.
    """
    if not isinstance(reply, dict) or "error" in reply:
        return ("error",)
    result = reply.get("result")
    if not isinstance(result, dict):
        return ("success",)
    if method == PERMISSION:
        return _permission(read_answer(options_of(asked), reply))
    if method == "elicitation/create":
        return ("elicitation", str(result.get("action")))
    if method == "terminal/wait_for_exit":
        return ("exit", _number(result.get("exitCode")), str(result.get("signal")))
    return ("success",)


def described(found: Outcome) -> str:
    """Returns an outcome in words."""
    match found:
        case ("selected", kind):
            return f"the choice {kind}"
        case ("granted", answer):
            return "granted" if answer == "True" else "denied"
        case ("exit", code, signal):
            return f"exit code {code}" if signal == "None" else f"signal {signal}"
        case ("elicitation", action):
            return f"the answer {action}"
    return " ".join(found)


def _permission(answer: PermissionAnswer) -> Outcome:
    if answer.granted is not None:
        return ("granted", str(answer.granted))
    if not answer.has_outcome:
        return ("success",)
    # The kind of an option counts; its id is the agent's own word for it.
    return CANCELLED if answer.is_cancelled else ("selected", answer.kind)


def _number(value: Any) -> str:
    """JSON has one kind of number."""
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if is_whole else value)
