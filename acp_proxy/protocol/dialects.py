"""The methods of ACP and its dialects: official v1, its next version v2, and the 1.0 draft.

The version number does not decide the dialect, since v1 and the draft both send 1. So `Evidence`
considers all messages up to the end of the first turn.

Each method, each kind of update and each kind of answer has one vote. The first message of a kind
decides: its vote counts for every dialect that writes the message in this form. A request that is
refused as invalid has no vote.

The result of ``initialize`` outweighs its params: if the agent answers a v2 client with version 1,
both use v1. In a tie, the handshake decides.
"""

from typing import Any

from attrs import define, field, frozen

from acp_proxy.base.limits import NAMED
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Kind, Message
from acp_proxy.protocol.updates import UPDATE, V1_UPDATES, V2_UPDATES

V1, V2, DRAFT = "v1", "v2", "draft-1.0"

INITIALIZE = ("initialize", "_proxy/initialize", "proxy/initialize")
"""The methods that initialize a connection. The last two initialize a proxy in a chain of proxies:
implementations use ``_proxy/initialize``, and the proposal names ``proxy/initialize``."""
SUCCESSOR = ("proxy/successor", "_proxy/successor")
"""The methods that wrap a message between a proxy and the next component in a chain of proxies. The
proposal names ``proxy/successor``, and implementations use ``_proxy/successor``."""
LOGIN = ("authenticate", "auth/login")
HANDSHAKE = (*INITIALIZE, *LOGIN)
FORK = "session/fork"
"""The method that copies a session. The request has the id of the original session, and the
response has the id of the new session."""
OPENING = ("session/new", "session/load", "session/resume", FORK)
"""Requests that open a session and name its directories."""
CLOSING = ("session/close", "session/delete", "session/archive")
"""Requests that free a session. ``session/archive`` frees the session "as if `session/close` had
been called"."""
PROMPT, PERMISSION = "session/prompt", "session/request_permission"
CANCEL, CANCEL_REQUEST = "session/cancel", "$/cancel_request"
MCP_MESSAGE = "mcp/message"
PUSH = "terminal/output"
"""In the 1.0 draft, the client's request that pushes a terminal's output to the agent. In v1, the
agent's request for a terminal's output."""
PROMPT_WITH_CONTENT = "session/prompt with content"
"""The reason to choose the draft without ``initialize``: the prompt has a member ``content``. In v1
the name of this member is ``prompt``."""

FORMER_REASON = "capabilities and clientInfo in the initialize request"
"""The reason that earlier versions of acp-proxy stored whenever they had chosen the draft."""

_RESULT = "the answer to initialize"
_HANDSHAKE = (INITIALIZE[0], _RESULT)
_NO_SIGN = "protocolVersion 1 in initialize, and no sign of another dialect"
_REFUSED = (-32600, -32601, -32602)
"""Error codes with which a peer rejects the form of a request."""
_MEMBERS = {
    "session/new": {"cwd": [V1, V2], "workingDirectory": [DRAFT]},
    PROMPT: {"prompt": [V1, V2], "content": [DRAFT]},
    PERMISSION: {"toolCall": [V1], "subject": [V2], "operation": [DRAFT]},
    "session/load": {"cwd": [V1]},
    "session/set_mode": {"modeId": [V1]},
    "authenticate": {"methodId": [V1]},
}
"""The members of the params that show the dialect, by method."""


@frozen
class Vote:
    """The evidence that one message gives for one or more dialects."""

    place: str
    """The kind of message: a method, a kind of update, or the answer to a method."""
    dialects: list[str]
    """The dialects in which the message has this form."""
    reason: str
    weight: int = 2


@define
class Evidence:
    """The evidence for the dialect in the messages up to the end of the first turn.

    The evidence is stored with the state of the connection, so the names of its fields are part of
    a file format.
    """

    votes: list[Vote] = field(factory=list)
    kinds: set[str] = field(factory=set, metadata={"json": "seen"})
    """The methods, updates and answers that have voted or abstained."""
    is_complete: bool = False
    """Whether the first turn has ended and the dialect is decided. Later messages then change
    nothing."""

    def take(self, message: Message, answered: str | None = None) -> bool:
        """Adds to the evidence what the next message shows about the dialect.

        Args:
            message: the message.
            answered: the method of the answered request, if the message is an answer.

        Returns:
            Whether the best dialect, or the reason for it, may have changed.
        """
        if self.is_complete:
            return False
        kind = f"answer to {answered}" if answered else message.update or message.method or ""
        vote = None
        if message.method in INITIALIZE and message.kind is Kind.REQUEST:
            self.votes = [earlier for earlier in self.votes if earlier.place not in _HANDSHAKE]
            vote = _vote_of_params(_params(message))
        elif answered in INITIALIZE:
            vote = _vote_of_result(body(message, "result"))
        elif kind not in self.kinds:
            self.kinds.add(kind)
            vote = _vote_of_answer(message) if answered == PROMPT else _vote_of_frame(message)
        if message.error_code in _REFUSED and answered not in INITIALIZE:
            self.votes = [earlier for earlier in self.votes if earlier.place != answered]
        elif vote is not None:
            self.votes.append(vote)
        if answered == PROMPT and message.kind is Kind.RESPONSE:
            # In v2 the answer only accepts the prompt.
            self.is_complete = (best := self.best()) is not None and best[0] != V2
        elif message.update == "state_update" and message.state == "idle":
            self.is_complete = self.best() is not None
        return vote is not None or message.error_code is not None

    def best(self) -> tuple[str, str] | None:
        """Returns the dialect with the most evidence, and why it leads; None if no dialect leads.

        The reason also names a few kinds of messages that are written in another dialect.
        """
        handshake = [vote.dialects[0] for vote in self.votes if vote.place in _HANDSHAKE]
        votes, possible = self.votes, [V1, V2, DRAFT]
        if handshake and handshake[-1] != V2:
            possible.remove(V2)  # the answer's version is final, and never above the request's
            votes = [vote for vote in votes if vote.place != INITIALIZE[0] or vote.dialects != [V2]]
        weights = {
            dialect: sum(vote.weight for vote in votes if dialect in vote.dialects)
            for dialect in possible
            if any(dialect in vote.dialects for vote in votes)
        }
        leading = [dialect for dialect in weights if weights[dialect] == max(weights.values())]
        preferred = [dialect for dialect in reversed(handshake) if dialect in leading]
        if not leading or (len(leading) > 1 and not preferred):
            return None
        best = preferred[0] if preferred else leading[0]
        mixed = _mixed(votes, best)
        ours = [vote for vote in votes if best in vote.dialects]
        counted = [vote for vote in ours if vote.weight and mixed] or ours
        reason = max(
            counted, key=lambda vote: (vote.place in _HANDSHAKE, vote.weight, -len(vote.dialects))
        ).reason
        return best, "; ".join([reason, *mixed])


def _mixed(votes: list[Vote], dialect: str) -> list[str]:
    """Returns texts about a few kinds of messages that are not written in the given dialect."""
    others = {v.place: v.dialects[0] for v in votes if v.weight and dialect not in v.dialects}
    return [f"{place} is written as {other}" for place, other in others.items()][:NAMED]


def _vote_of_params(params: dict[str, Any]) -> Vote | None:
    version, place = params.get("protocolVersion"), INITIALIZE[0]
    if version == 2:
        return Vote(place, [V2], "protocolVersion 2 in initialize", 1)
    if version != 1:
        return None
    if "clientCapabilities" in params:
        return Vote(place, [V1], "clientCapabilities in the initialize request", 1)
    if _has_draft_params(params):
        return Vote(place, [DRAFT], "capabilities and clientInfo in initialize", 1)
    return Vote(place, [V1], _NO_SIGN, 0)


def _vote_of_result(result: dict[str, Any]) -> Vote | None:
    version, capabilities = result.get("protocolVersion"), result.get("capabilities")
    if version == 2:
        return Vote(_RESULT, [V2], "protocolVersion 2 in the initialize result", 4)
    if not isinstance(version, int) and isinstance(capabilities, dict) and "info" in result:
        return Vote(_RESULT, [V2], "info and capabilities in the initialize result")
    for name in ("agentCapabilities", "authMethods"):
        if name in result:
            return Vote(_RESULT, [V1], f"{name} in the initialize result")
    if isinstance(capabilities, dict) and version == 1:
        return Vote(_RESULT, [DRAFT], "capabilities in the initialize result")
    return Vote(_RESULT, [V1], _NO_SIGN, 0) if version == 1 else None


def _vote_of_answer(message: Message) -> Vote | None:
    """Returns the evidence that the answer to a prompt gives for dialects, if any."""
    result = _member(message, "result")
    if message.kind is not Kind.RESPONSE or not isinstance(result, dict):
        return None
    place = f"the answer to {PROMPT}"
    if "stopReason" in result:
        return Vote(place, [V1, DRAFT], "session/prompt answered with a stopReason")
    return Vote(place, [V2], "session/prompt answered without a stopReason")


def _vote_of_frame(message: Message) -> Vote | None:
    """Returns the evidence that a request or a notification gives for dialects, if any."""
    method = message.method or ""
    if method == UPDATE:
        return _vote_of_update(message)
    if method in ("auth/login", "auth/logout"):
        return Vote(method, [V2], f"method {method}")
    if message.session is not None and method.startswith(("fs/", "terminal/")):
        return Vote(method, [V1], f"{method} with sessionId")  # never in the draft
    if (members := _MEMBERS.get(method)) is None:
        return None
    params = _params(message)
    present = [name for name in members if name in params]
    if len(present) != 1:
        return None
    as_v1 = f"{method} as v1 writes it"
    dialects = members[present[0]]
    return Vote(method, dialects, as_v1 if dialects == [V1] else f"{method} with {present[0]}")


def _vote_of_update(message: Message) -> Vote | None:
    if (kind := message.update) is None:
        return None
    place, reason = f"the update {kind}", f"a session update of kind {kind}"
    if kind in V2_UPDATES:
        return Vote(place, [V2], reason)
    params = _params(message)
    if "update" in params:
        return Vote(place, [V1] if kind in V1_UPDATES else [V1, V2], reason)
    return Vote(place, [DRAFT], "session/update with type and data") if "data" in params else None


def body(message: Message, member: str) -> dict[str, Any]:
    """Decodes one member of a message.

    Args:
        message: the message.
        member: the member's name.

    Returns:
        The member; an empty dict if the member is not an object, or if the line was too large to
        keep.
    """
    value = _member(message, member)
    return value if isinstance(value, dict) else {}


def carries_mcp_error(message: Message) -> bool:
    """Whether the result of ``mcp/message`` contains an error of the MCP server."""
    if message.raw is None or b'"error"' not in message.raw:
        return False
    result = body(message, "result")
    return "result" not in result and isinstance(result.get("error"), dict)


def _member(message: Message, member: str) -> Any:
    value = None if message.raw is None else json_or_none(message.raw)
    return value.get(member) if isinstance(value, dict) else None


def _params(message: Message) -> dict[str, Any]:
    return body(message, "params")


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
