"""Rules that exist only in the independent 1.0 draft."""

import json
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from acp_proxy.check.check_values import Breach, Breaches, frames_of, not_offered, shown
from acp_proxy.check.checked_message import AGENT, CheckedMessage, integer
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.conversation.session_record import EndedTurn
from acp_proxy.check.registry import ANY, rule, turn_rule
from acp_proxy.check.rules.mcp_servers import servers_of
from acp_proxy.protocol.dialects import PERMISSION, PROMPT
from acp_proxy.protocol.json_text import member, pointer
from acp_proxy.protocol.updates import TOOL_CALLS
from acp_proxy.redaction.markers import MARKER

_SETUP = ("session/new", "session/load")
_OPERATIONS = frozenset(
    {"file_read", "file_write", "file_delete", "terminal_execute", "network_access", "mcp_tool"}
)
_SCOPES = ("once", "session", "workspace", "always")
_NOT_IN_DIAGRAM: dict[str, frozenset[str]] = {
    "pending": frozenset({"denied"}),
    "awaiting_permission": frozenset({"pending", "completed"}),
    "in_progress": frozenset({"awaiting_permission", "denied"}),
}
"""For each status of a tool call, the statuses that must not follow it."""
_RAN = ("in_progress", "completed")
_FIT_FOR_UNKNOWN = frozenset(
    {-32000, -32001, -32003, -32006, -32008, -32009, -32600, -32601, -32602}
)
"""Codes that are accepted in an answer about an unknown session."""
_MOST = 1_000


@rule("s4.required-capabilities", results=("initialize",))
def requirements_are_met(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds agents that accept a client which lacks a required capability."""
    required = message.result.get("requiredClientCapabilities")
    if not conversation.client.is_known:
        return
    for path in _required(required, ()):
        if not conversation.client.offers(*path):
            related = frames_of(conversation.client)
            place = pointer(("result", "requiredClientCapabilities", *path))
            text = f"the agent requires {'.'.join(path)[:200]}, but accepts a client without it"
            yield Breach(text, related, place=place)


@rule("s4.permission-operation", requests=(PERMISSION,), alone=True)
def operation_is_listed(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds operations that the draft does not define."""
    operation = message.params.get("operation")
    if isinstance(operation, str) and operation not in _OPERATIONS:
        yield Breach(f"the operation {shown(operation)} is not defined", place="/params/operation")


@rule("s4.permission-scope", results=(PERMISSION,), alone=True)
def scope_is_listed(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds scopes that the draft does not define."""
    scope = message.result.get("scope")
    if isinstance(scope, str) and scope not in _SCOPES:
        yield Breach(f"the scope {shown(scope)} is not defined", place="/result/scope")


@rule("s4.permission-scope-again", results=(PERMISSION,))
def remember_grants(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers permissions that are granted for more than one use."""
    request, scope = message.request, message.result.get("scope")
    result = message.result
    is_granted = result.get("granted") is True and result.get("remember") is not False
    if request is not None and is_granted and scope in _SCOPES[1:]:
        session = None if scope == "always" else request.session
        if (key := _asked(request, session)) is not None:
            conversation.memory.grants.add(key, message.seq)


@rule("s4.permission-scope-again", requests=(PERMISSION,))
def grants_are_used(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports requests for permissions that were granted before."""
    for session in (message.session, None):
        key = _asked(message, session)
        granted = None if key is None else conversation.memory.grants.get(key)
        if granted is not None:
            params = message.params
            operation, resource = shown(params.get("operation")), shown(params.get("resource"))
            yield Breach(f"{operation} of {resource} is granted already", (granted,))
            return


@turn_rule("s4.denied-status")
def refused_is_denied(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds refused tool calls that did not run, and have another status than "denied"."""
    if ended.is_error or ended.turn.cancel_seq is not None:
        return
    for call in ended.turn.calls.values():
        if call.refused_seq is not None and call.status not in ("denied", "cancelled", *_RAN):
            status = f"is {call.status}" if call.status else "has no status"
            text = f"the tool call {shown(call.id)} was refused, but at the end of the turn it"
            yield Breach(f"{text} {status}, not denied", (call.refused_seq,))


@rule("s4.status-flow", updates=TOOL_CALLS)
def status_follows_the_diagram(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds statuses of a tool call that must not follow the previous status."""
    session, name = conversation.session(message.session), message.parsed.tool_call
    call = None if session is None or name is None else session.calls.get(name)
    status = message.parsed.status
    if call is None or status is None or message.transition.begins_call:
        return
    if status == "denied" and call.refused_seq is not None:
        return  # an example of the draft (16.2) has this change
    if status in _NOT_IN_DIAGRAM.get(call.status, ()):
        related = frames_of(call.status_seq)
        text = f"the tool call {shown(call.id)} goes from {call.status} to {status}"
        yield Breach(text, related, place="/params/data/status")


@rule("s4.terminal-max", results=("terminal/create",))
def terminals_are_few(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds a terminal that is created although the client allows no further open terminal."""
    most = integer(conversation.client.capability("terminal", "maxConcurrent"))
    if most is None or message.request is None:
        return
    gone = {message.parsed.terminal}
    for request in conversation.asked.values():
        if request.method in ("terminal/release", "terminal/kill"):
            gone.add(request.parsed.terminal)
    records = [record for record in conversation.terminals.values() if record.id not in gone]
    open_ = [record for record in records if record.release_seq is None and record.exit is None]
    if len(open_) >= most:
        text = f"{len(open_) + 1} terminals are open, but the client allows {most}"
        yield Breach(text, (message.seq,), by=AGENT, seq=message.request.seq)


@rule("s4.terminal-output-direction", requests=("terminal/output",),
      notifications=("terminal/output",), alone=True)  # fmt: skip
def output_is_pushed(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds terminal/output requests of the agent."""
    if message.sender == AGENT:
        yield Breach("the client sends terminal/output; an agent does not ask for it")


@rule("s4.mcp-transport", requests=_SETUP)
def transport_is_offered(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds MCP servers whose transport the agent does not offer."""
    servers = servers_of(message)
    if not servers or not conversation.agent.is_known:
        return
    related = frames_of(conversation.agent)
    if not conversation.agent.offers("mcpCapabilities", "servers"):
        text = not_offered("a list of MCP servers", "mcpCapabilities.servers", AGENT)
        yield Breach(text, related, place="/params/mcpServers")
        return
    offered = conversation.agent.capability("mcpCapabilities", "transport")
    for at, server in servers if isinstance(offered, list) else ():
        kind = member(server, "transport", "type")
        if isinstance(kind, str) and kind not in offered:
            text = f"the transport {shown(kind)} is not in the agent's mcpCapabilities.transport"
            yield Breach(text, related, place=f"/params/mcpServers/{at}/transport/type")


@rule("s4.attachments", requests=(PROMPT,))
def attachments_are_offered(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds attachments that the agent does not accept."""
    is_offered = conversation.agent.offers("promptCapabilities", "attachments")
    if message.params.get("attachments") and conversation.agent.is_known and not is_offered:
        related = frames_of(conversation.agent)
        text = not_offered("a prompt with attachments", "promptCapabilities.attachments", AGENT)
        yield Breach(text, related, place="/params/attachments")


@rule("s4.mode-notified", results=("session/set_mode",))
def remember_new_modes(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers that a mode was set, until an update reports the mode."""
    request, name = message.request, message.session
    if request is None or name is None or message.sender != AGENT:
        return
    before, now = message.result.get("previousMode"), message.result.get("currentMode")
    reported = conversation.memory.mode_updates.get(name)
    is_new = before is None or before != now
    if is_new and (reported is None or reported < request.seq):
        conversation.memory.set_modes.add(name, message.seq)


@rule("s4.mode-notified", updates=("current_mode_update",))
def remember_mode_updates(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers that an update reported a mode."""
    if message.session is not None:
        conversation.memory.set_modes.remove(message.session)
        conversation.memory.mode_updates.add(message.session, message.seq)


@turn_rule("s4.mode-notified")
def modes_are_reported(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds modes that were set before a turn, but not reported by the end of the turn."""
    name, turn = ended.turn.session, ended.turn
    seq = None if name is None else conversation.memory.set_modes.get(name)
    if name is not None and seq is not None and seq < turn.prompt_seq:
        conversation.memory.set_modes.remove(name)
        text = "the mode was set, but no current_mode_update has followed"
        yield Breach(text, (ended.seq,), by=AGENT, seq=seq)


@rule("s4.error-code", answers=(ANY,))
def code_fits(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports errors that are about an unknown session, but have the code for another problem."""
    request, code = message.request, message.parsed.error_code
    if not message.is_error or request is None or code is None or message.sender != AGENT:
        return
    name = request.params.get("sessionId")
    if not isinstance(name, str) or message.method in _SETUP or code in _FIT_FOR_UNKNOWN:
        return
    is_opening = conversation.is_opening(name, *_SETUP)
    if conversation.agent.is_known and conversation.sessions.lacks(name) and not is_opening:
        text = f"the session {shown(name)} was not opened; the code for that is -32000, not {code}"
        yield Breach(text, (request.seq,), place="/error/code")


@rule("s4.credential-shown", requests=_SETUP)
def remember_credentials(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers the masked values in the configuration of MCP servers."""
    for name in _masked(message.params.get("mcpServers")):
        conversation.memory.credentials.add(name, message.seq)


@rule("s4.credential-shown", updates=TOOL_CALLS)
def output_shows_no_credential(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds masked values of an MCP server in the output of a tool call."""
    for member_of in ("output", "content", "rawOutput") if conversation.memory.credentials else ():
        for name in _masked(message.update.get(member_of)):
            if (seq := conversation.memory.credentials.get(name)) is not None:
                text = "the output of the tool call has a masked value of an MCP server"
                yield Breach(text, (seq,), place=f"/params/data/{member_of}")
                return


@rule("s4.https", requests=_SETUP, alone=True)
def remote_http_is_encrypted(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds MCP servers on other machines that are reached without TLS."""
    for at, server in servers_of(message):
        url = member(server, "transport", "url")
        if isinstance(url, str) and _is_remote_http(url):
            name = shown(member(server, "name"))
            text = f"the MCP server {name} is on another machine, but is used without TLS"
            yield Breach(text, place=f"/params/mcpServers/{at}/transport/url")


def _masked(value: Any) -> list[str]:
    """Returns the hashes of the masked values in a JSON value. Equal values have equal hashes."""
    return [] if value is None else [marker[2] for marker in MARKER.finditer(json.dumps(value))]


def _required(wanted: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yields the path of each value that is true: the capability at this path is required."""
    if wanted is True:
        yield path
    elif isinstance(wanted, dict) and len(path) < 5:
        for name, inner in [*wanted.items()][:_MOST]:
            yield from _required(inner, (*path, name))


def _asked(request: CheckedMessage, session: str | None) -> str | None:
    """Returns a key for the subject of a permission request; None if the subject is not stated."""
    operation, resource = request.params.get("operation"), request.params.get("resource")
    if not isinstance(operation, str) or not isinstance(resource, str):
        return None
    return json.dumps([session, operation, resource])


def _is_remote_http(url: str) -> bool:
    """Whether a URL leads to another machine without encryption."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme.lower() != "http" or not host:
        return False
    try:
        address = ip_address(host)
        return not (address.is_loopback or address.is_unspecified)
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")
