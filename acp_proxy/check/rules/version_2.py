"""Rules for version 2, where the answer only accepts a prompt, and updates report the work."""

from acp_proxy.check.check_values import Breach, Breaches, Severity, frames_of, not_offered, shown
from acp_proxy.check.checked_message import AGENT, CLIENT, CheckedMessage
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.conversation.session_record import EndedTurn, TurnRecord
from acp_proxy.check.methods import METHODS
from acp_proxy.check.registry import ANY, IN_FLIGHT_NS, MOMENT_NS, end_rule, rule, turn_rule
from acp_proxy.check.rules.mcp_servers import servers_of
from acp_proxy.protocol.dialects import OPENING, PROMPT, V1, V2
from acp_proxy.protocol.json_text import parts_of
from acp_proxy.protocol.updates import MESSAGES, V1_UPDATES
from acp_proxy.redaction.markers import MARKER

_REMOVED = {method for _, method in METHODS[V1]} - {method for _, method in METHODS[V2]}
_WORKING = ("running", "requires_action")
_LISTED = 5


@rule("v2.removed", requests=(ANY,), notifications=(ANY,))
def removed_is_not_used(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds methods and updates of version 1 that version 2 has removed."""
    if message.method in _REMOVED:
        yield Breach(f"{message.method} is a method of version 1")
    elif message.update_kind in V1_UPDATES and "update" in message.params:
        yield Breach(f"{message.update_kind} is an update of version 1",
                     place="/params/update/sessionUpdate")  # fmt: skip


@rule("v2.prompt-result", results=(PROMPT,), alone=True)
def prompt_is_only_accepted(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds stop reasons in answers to prompts. In version 2, updates must have them."""
    if "stopReason" in message.result:
        reason = shown(message.result["stopReason"])
        text = f"the answer to a prompt has the stop reason {reason}"
        yield Breach(f"{text}, which belongs in a state_update", place="/result/stopReason")


@turn_rule("v2.user-message")
def prompt_is_reported(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds accepted prompts that no update has reported before the session is idle."""
    turn = ended.turn
    if conversation.pairs.lost_update_seq > turn.prompt_seq:
        return  # the lost update may have been the message
    if _is_by_update(ended, conversation) and not turn.has_user_message and not turn.is_joining:
        severity = None if turn.cancel_seq is None else Severity.WARNING
        yield Breach("the session is idle, but the prompt was not reported as a user message",
                     (turn.prompt_seq,), severity=severity)  # fmt: skip


@turn_rule("v2.running")
def work_begins_with_running(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds prompts that the agent works on without reporting the session as running."""
    turn = ended.turn
    if not _is_by_update(ended, conversation) or ended.stop_reason is None or turn.is_running:
        return
    if conversation.pairs.lost_update_seq > turn.prompt_seq:
        return  # the lost update may have reported the state
    if turn.output_seq is not None and not turn.is_joining:
        text = "the agent works on a prompt, but never says that the session is running"
        yield Breach(text, (turn.prompt_seq, ended.seq), seq=turn.output_seq)


@rule("v2.idle-reason", updates=("state_update",))
def idle_has_a_reason(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds updates that report an idle session without a stop reason."""
    session = conversation.session(message.session)
    if session is None or message.update.get("state") != "idle" or session.state not in _WORKING:
        return
    if message.update.get("stopReason") is None:
        text = f"the session was {session.state}, but is idle without a stop reason"
        yield Breach(text, place="/params/update/stopReason")


@turn_rule("v2.cancelled")
def cancel_is_confirmed(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds cancelled turns that end with another stop reason than "cancelled"."""
    turn, reason = ended.turn, ended.stop_reason
    if not turn.must_confirm or not _is_by_update(ended, conversation):
        return
    if reason in (None, "cancelled"):
        return
    took_ns, is_first = ended.t_ns - turn.cancel_ns, turn.from_agent <= 1
    if turn.cancel_seq is None or (is_first and took_ns <= IN_FLIGHT_NS):
        return
    if conversation.pairs.lost_update_seq > turn.cancel_seq:
        return  # the lost update may have been the end
    severity = Severity.WARNING if is_first or took_ns <= MOMENT_NS else None
    text = f"the work was cancelled, but ends with {shown(reason)}"
    yield Breach(text, (turn.cancel_seq,), severity=severity)


@end_rule("v2.cancelled")
def cancelled_work_ends(conversation: Conversation) -> Breaches:
    """Finds cancelled work that never ends because the agent exits."""
    if not conversation.is_over or conversation.left != AGENT:
        return
    for turn in conversation.turns.values():
        is_cancelled = turn.must_confirm and turn.cancel_seq is not None
        if is_cancelled and not _is_waiting(turn, conversation):
            text = "the work was cancelled, but the agent ended before the session was idle"
            yield Breach(text, (turn.prompt_seq,), by=AGENT, seq=turn.cancel_seq)


@rule("v2.custom-value", "message", alone=True)
def custom_names_are_marked(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds names that are neither defined nor marked as custom by an underscore."""
    names = [
        (place, name)
        for place, name in conversation.compared(message).unnamed
        if not name.startswith("_") and MARKER.fullmatch(name) is None and not _is_elsewhere(place)
    ]
    for place, name in names[:_LISTED]:
        text = f"the {parts_of(place)[-1]} {shown(name)} is not defined"
        yield Breach(f"{text}, and custom ones begin with _", place=place)


@rule("v2.auth-surface", requests=("auth/login", "auth/logout"))
def login_is_offered(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds logins and logouts with an agent that offers no login method."""
    announced = conversation.agent.announced or {}
    is_offered = "authMethods" in announced and announced["authMethods"] != []
    if message.sender == CLIENT and conversation.agent.is_known and not is_offered:
        related = frames_of(conversation.agent)
        yield Breach(f"{message.method} is called, but the agent offers no login method", related)


@rule("v2.mcp-type", requests=OPENING)
def servers_name_their_type(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds MCP servers without a type, and stdio servers that the agent does not support."""
    agent = conversation.agent
    is_offered = not agent.is_known or agent.offers("session", "mcp", "stdio")
    related = frames_of(agent)
    for at, server in servers_of(message):
        name, place = shown(server.get("name")), f"/params/mcpServers/{at}/type"
        if server.get("type") is None:
            yield Breach(f"the MCP server {name} has no type", place=place)
        elif server["type"] == "stdio" and not is_offered:
            text = not_offered(f"the MCP server {name}", "session.mcp.stdio", AGENT)
            yield Breach(text, related, place=place)


@rule("v2.message-id", updates=MESSAGES, alone=True)
def messages_have_ids(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds messages and chunks without an id."""
    if "update" in message.params and message.update.get("messageId") is None:
        yield Breach(f"{message.update_kind} has no messageId", place="/params/update/messageId")


def _is_by_update(ended: EndedTurn, conversation: Conversation) -> bool:
    """Whether the turn was ended by an update, after the agent accepted its prompt."""
    return not ended.is_error and not ended.is_answer and not _is_waiting(ended.turn, conversation)


def _is_waiting(turn: TurnRecord, conversation: Conversation) -> bool:
    """Whether the prompt of a turn is not accepted yet, so that updates belong to earlier work."""
    return turn.exchange is not None and turn.exchange in conversation.asked


def _is_elsewhere(place: str) -> bool:
    """Whether another rule checks the names at a place."""
    parts = parts_of(place)
    return parts == ("params", "update", "sessionUpdate") or parts[1:2] == ("mcpServers",)
