"""Reduces a message to the part that a partial comparison compares.

`Expect.STRUCTURE` keeps the actions: kinds of updates; tool calls with title, kind and status;
names of files and commands; stop reasons; permissions.

`Expect.OUTCOME` keeps the results: the agent's capabilities, why turns ended, whether requests were
answered or refused, and which permissions were granted.
"""

from contextlib import suppress
from typing import Any

from acp_proxy.diff.diff_result import Expect
from acp_proxy.protocol.capabilities import normalized
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.protocol.json_text import member, picked
from acp_proxy.recording.recording import StoredFrame

NOTHING = object()
"""Stands for a message that is not compared."""
_CALL = ("toolCallId", "id", "title", "kind", "status", "name", "tool")
_DONE = (
    "sessionId",
    "cwd",
    "workingDirectory",
    "additionalDirectories",
    "title",
    "operation",
    "resource",
    "path",
    "uri",
    "command",
    "args",
    "terminalId",
    "modeId",
    "configId",
    "mode",
)
"""Members of params that identify the target of a request."""
_KEPT = {
    "params": ("sessionId",),
    "update": ("sessionUpdate", "state", "stopReason", "currentModeId"),
    "result": (
        "sessionId",
        "stopReason",
        "outcome",
        "granted",
        "success",
        "terminalId",
        "action",
        "exitStatus",
    ),
}


def reduced(message: Any, frame: StoredFrame, expect: Expect, decision: str | None = None) -> Any:
    """Returns the part of a message that is compared; `NOTHING` if no part is compared.

    Args:
        message: the decoded message.
        frame: the frame of the message.
        expect: how much of a message is compared.
        decision: the client's decision, for the answer to a permission request; otherwise None.
    """
    if frame.method in INITIALIZE:
        return handshake(message)
    if expect is Expect.FRAMES or not isinstance(message, dict):
        return message if expect is not Expect.OUTCOME or frame.kind != "invalid" else NOTHING
    if expect is Expect.OUTCOME:
        return _outcome(message, frame) if decision is None else {"result": {"decision": decision}}
    which = picked(message, ("id",))
    if frame.kind == "error":
        return {**which, "error": picked(message.get("error"), ("code",))}
    if frame.kind == "response":
        return {**which, "result": picked(message.get("result"), _KEPT["result"])}
    return {**which, "method": message.get("method"), "params": _params(message.get("params"))}


def handshake(message: Any) -> Any:
    """Returns an ``initialize`` request, or its answer, without unsupported capabilities."""
    if not isinstance(message, dict):
        return message
    halves = ("params", "result")
    with suppress(RecursionError):
        return {k: normalized(v) if k in halves else v for k, v in message.items()}
    return message


def _params(params: Any) -> Any:
    kept = picked(params, _DONE)
    if not isinstance(kept, dict):
        return kept
    for name in ("update", "data"):
        if name in params:
            kept[name] = picked(params[name], (*_KEPT["update"], *_of_call(params, name)))
    if isinstance(params.get("type"), str):
        kept["type"] = params["type"]
    if "toolCall" in params:
        kept["toolCall"] = picked(params["toolCall"], _CALL)
    if isinstance(subject := params.get("subject"), dict):
        kept["subject"] = picked(subject, ("type", "toolCallId", "command"))
        if "toolCall" in subject:
            kept["subject"]["toolCall"] = picked(subject["toolCall"], _CALL)
    options = params.get("options")
    if isinstance(options, list):
        kept["options"] = [picked(option, ("kind",)) for option in options]
    return kept


def _of_call(params: dict[str, Any], name: str) -> tuple[str, ...]:
    """Returns the names of the compared members of a tool call; empty for any other update."""
    update = params[name]
    kind = update.get("sessionUpdate") if isinstance(update, dict) else None
    kind = kind or params.get("type")
    return _CALL if isinstance(kind, str) and kind.startswith("tool_call") else ()


def _outcome(message: dict[str, Any], frame: StoredFrame) -> Any:
    """Returns the outcome in a message; `NOTHING` for a message without an outcome.

    An outcome is in an answer of the agent; in v2, also in the update that ends a turn.
    """
    if frame.stream != "to-client":
        return NOTHING
    if frame.kind == "error":
        return {"error": picked(message.get("error"), ("code",))}
    if frame.kind == "response":
        return {"result": picked(message.get("result"), ("sessionId", "stopReason", "success"))}
    update = member(message, "params", "update")
    if member(update, "stopReason") is not None:
        return {"params": {"update": picked(update, ("sessionUpdate", "stopReason"))}}
    return NOTHING
