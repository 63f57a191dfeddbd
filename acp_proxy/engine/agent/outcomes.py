"""What class of outcome a client's reply is; between two classes the story would be a lie.

An agent that was allowed to write goes on as one that was; one that was refused does not. What a
file held, or what a program printed, only drifts.
"""

from typing import Any

from acp_proxy.engine.shared.steps import PERMISSION

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
        return _permission(asked, result)
    if method == "elicitation/create":
        return ("elicitation", str(result.get("action")))
    if method == "terminal/wait_for_exit":
        return ("exit", _number(result.get("exitCode")), str(result.get("signal")))
    return ("success",)


def described(found: Outcome) -> str:
    """An outcome in words."""
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


def _permission(asked: Any, result: dict[str, Any]) -> Outcome:
    if "granted" in result:  # draft-1.0
        return ("granted", str(bool(result["granted"])))
    chosen = result.get("outcome")
    if not isinstance(chosen, dict):
        return ("success",)
    if chosen.get("outcome") == "cancelled":
        return CANCELLED
    return ("selected", _option_kind(asked, chosen.get("optionId")))


def _number(value: Any) -> str:
    """JSON knows one kind of number."""
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if is_whole else value)


def _option_kind(asked: Any, option_id: Any) -> str:
    """The kind of an option counts; its id is the agent's own word for it."""
    params = asked.get("params") if isinstance(asked, dict) else None
    options = params.get("options") if isinstance(params, dict) else None
    for option in options if isinstance(options, list) else []:
        if isinstance(option, dict) and option.get("optionId") == option_id:
            return str(option.get("kind"))
    return str(option_id)
