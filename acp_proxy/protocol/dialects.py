"""The methods of ACP, and its dialects: official v1, its next version v2, and the 1.0 draft.

The version number alone does not decide: v1 and the draft both send 1. The initialize exchange
decides, and its result outweighs its params: after a v2 client is answered with version 1, both
peers use v1. Where no initialize was recorded, the first frame decides that only one dialect has.
"""

from typing import Any, NamedTuple

from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Kind, Message
from acp_proxy.protocol.updates import UPDATE, V1_UPDATES, V2_UPDATES

V1, V2, DRAFT = "v1", "v2", "draft-1.0"

INITIALIZE = ("initialize", "_proxy/initialize", "proxy/initialize")
"""The last two are for a proxy in a chain, in the implementation's spelling and the proposal's."""
LOGIN = ("authenticate", "auth/login")
HANDSHAKE = (*INITIALIZE, *LOGIN)
FORK = "session/fork"
"""Its request has the id of the original session, and its response that of the new one."""
OPENING = ("session/new", "session/load", "session/resume", FORK)
"""Requests that open a session and name its directories."""
CLOSING = ("session/close", "session/delete")
PROMPT, PERMISSION = "session/prompt", "session/request_permission"
CANCEL, CANCEL_REQUEST = "session/cancel", "$/cancel_request"
PUSH = "terminal/output"
"""In the 1.0 draft a request with which the client pushes a terminal's output. In v1 a request with
which the agent asks for it."""
PROMPT_WITH_CONTENT = "session/prompt with content"
"""Why a recording without an initialize is taken for one of the draft; v1 requires ``prompt``."""


class DetectedDialect(NamedTuple):
    """A dialect, and why."""

    dialect: str
    reason: str


def dialect_of_initialize(
    params: dict[str, Any], result: dict[str, Any] | None
) -> DetectedDialect | None:
    """Finds out the dialect from an initialize exchange.

    Args:
        params: of the request.
        result: of the answer; None while there is none.

    Returns:
        None if they leave it open.
    """
    if result is not None and (found := _dialect_of_result(result)):
        return found
    version = params.get("protocolVersion")
    if result is not None and isinstance(answered := result.get("protocolVersion"), int):
        version = answered
    if version == 2:
        return DetectedDialect(V2, "protocolVersion 2 in initialize")
    if version != 1:
        return None
    if "clientCapabilities" in params:
        return DetectedDialect(V1, "clientCapabilities in the initialize request")
    if _has_draft_params(params):
        return DetectedDialect(DRAFT, "capabilities and clientInfo in the initialize request")
    return DetectedDialect(V1, "protocolVersion 1 in initialize, and no sign of another dialect")


def dialect_of_frame(message: Message, answered: str | None = None) -> DetectedDialect | None:
    """Finds out the dialect from a later frame, where initialize was not seen or left it open.

    Args:
        message: the frame.
        answered: the method of the request that it answers, if it is an answer.
    """
    if answered is not None:
        if answered == PROMPT and message.kind is Kind.RESPONSE:
            result = _member(message, "result")
            if isinstance(result, dict) and "stopReason" not in result:
                return DetectedDialect(V2, "session/prompt answered without a stopReason")
    elif message.method == UPDATE and message.update is not None:
        if message.update in V2_UPDATES:
            return DetectedDialect(V2, f"a session update of kind {message.update}")
        params = _params(message)
        if "update" not in params and "data" in params:
            return DetectedDialect(DRAFT, "session/update with type and data")
        if message.update in V1_UPDATES and "update" in params:
            return DetectedDialect(V1, f"a session update of kind {message.update}")
    elif message.method == "session/new":
        if "workingDirectory" in _params(message):
            return DetectedDialect(DRAFT, "session/new with workingDirectory")
    elif message.method == PROMPT:
        params = _params(message)
        if "content" in params and "prompt" not in params:
            return DetectedDialect(DRAFT, PROMPT_WITH_CONTENT)
    elif message.method in ("auth/login", "auth/logout"):
        return DetectedDialect(V2, f"method {message.method}")
    elif message.method in ("session/load", "session/set_mode", "authenticate"):
        params = _params(message)
        if "cwd" in params or "modeId" in params or "methodId" in params:
            return DetectedDialect(V1, f"{message.method} as v1 writes it")
    elif message.session is not None and (message.method or "").startswith(("fs/", "terminal/")):
        return DetectedDialect(V1, f"{message.method} with sessionId")  # the draft names none there
    return None


def body(message: Message, member: str) -> dict[str, Any]:
    """Decodes one member of a message.

    Args:
        message: the message.
        member: the member's name.

    Returns:
        An empty dict if the member is no object, or if the line was too large to be held.
    """
    found = _member(message, member)
    return found if isinstance(found, dict) else {}


def _member(message: Message, member: str) -> Any:
    value = None if message.raw is None else json_or_none(message.raw)
    return value.get(member) if isinstance(value, dict) else None


def _params(message: Message) -> dict[str, Any]:
    return body(message, "params")


def _dialect_of_result(result: dict[str, Any]) -> DetectedDialect | None:
    version = result.get("protocolVersion")
    if version == 2:
        return DetectedDialect(V2, "protocolVersion 2 in the initialize result")
    capabilities = result.get("capabilities")
    if not isinstance(version, int) and isinstance(capabilities, dict) and "info" in result:
        return DetectedDialect(V2, "info and capabilities in the initialize result")
    for name in ("agentCapabilities", "authMethods"):
        if name in result:
            return DetectedDialect(V1, f"{name} in the initialize result")
    if isinstance(capabilities, dict) and version == 1:
        return DetectedDialect(DRAFT, "capabilities in the initialize result")
    return None


def _has_draft_params(params: dict[str, Any]) -> bool:
    capabilities = params.get("capabilities")
    if not isinstance(capabilities, dict):
        return False
    fs = capabilities.get("fs")
    return (
        "clientInfo" in params
        or "ui" in capabilities
        or isinstance(capabilities.get("terminal"), dict)
        or (isinstance(fs, dict) and bool(fs.keys() & {"read", "write", "watch"}))
    )
