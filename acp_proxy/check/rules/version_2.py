"""Rules that only version 2 has: a prompt is only accepted, and updates report all that follows."""

from collections.abc import Iterator

from acp_proxy.check.check_values import Breach, Severity, frames_of
from acp_proxy.check.check_wording import not_offered, shown
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
def removed_is_not_used(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds methods and updates of version 1 that version 2 does not have any more."""
    if seen.method in _REMOVED:
        yield Breach(f"{seen.method} is a method of version 1")
    elif seen.update_kind in V1_UPDATES and "update" in seen.params:
        yield Breach(f"{seen.update_kind} is an update of version 1",
                     place="/params/update/sessionUpdate")  # fmt: skip


@rule("v2.prompt-result", results=(PROMPT,), alone=True)
def prompt_is_only_accepted(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds prompts whose answer names a stop reason."""
    if "stopReason" in seen.result:
        reason = shown(seen.result["stopReason"])
        text = (
            f"the answer to a prompt has the stop reason {reason}, which belongs in a state_update"
        )
        yield Breach(text, place="/result/stopReason")


@turn_rule("v2.user-message")
def prompt_is_reported(ended: EndedTurn, talk: Conversation) -> Iterator[Breach]:
    """Finds accepted prompts that are not reported before the session is idle."""
    turn = ended.turn
    if talk.pairs.lost_update_seq > turn.prompt_seq:
        return  # it may have been that
    if _is_by_update(ended, talk) and not turn.has_user_message and not turn.is_joining:
        severity = None if turn.cancel_seq is None else Severity.WARNING
        yield Breach("the session is idle, but the prompt was not reported as a user message",
                     (turn.prompt_seq,), severity=severity)  # fmt: skip


@turn_rule("v2.running")
def work_begins_with_running(ended: EndedTurn, talk: Conversation) -> Iterator[Breach]:
    """Finds foreground work that ends without ever having been reported as running."""
    turn = ended.turn
    if not _is_by_update(ended, talk) or ended.stop_reason is None or turn.is_running:
        return
    if talk.pairs.lost_update_seq > turn.prompt_seq:
        return  # it may have been that
    if turn.output_seq is not None and not turn.is_joining:
        text = "the agent works on a prompt, but never says that the session is running"
        yield Breach(text, (turn.prompt_seq, ended.seq), seq=turn.output_seq)


@rule("v2.idle-reason", updates=("state_update",))
def idle_has_a_reason(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds sessions that become idle after work without a stop reason."""
    session = talk.session(seen.session)
    if session is None or seen.update.get("state") != "idle" or session.state not in _WORKING:
        return
    if seen.update.get("stopReason") is None:
        text = f"the session was {session.state}, but is idle without a stop reason"
        yield Breach(text, place="/params/update/stopReason")


@turn_rule("v2.cancelled")
def cancel_is_confirmed(ended: EndedTurn, talk: Conversation) -> Iterator[Breach]:
    """Finds cancelled work that ends with another stop reason."""
    turn, reason = ended.turn, ended.stop_reason
    if not turn.must_confirm or not _is_by_update(ended, talk) or reason in (None, "cancelled"):
        return
    took_ns, is_first = ended.t_ns - turn.cancel_ns, turn.from_agent <= 1
    if turn.cancel_seq is None or (is_first and took_ns <= IN_FLIGHT_NS):
        return
    if talk.pairs.lost_update_seq > turn.cancel_seq:
        return  # it may have been the end
    severity = Severity.WARNING if is_first or took_ns <= MOMENT_NS else None
    text = f"the work was cancelled, but ends with {shown(reason)}"
    yield Breach(text, (turn.cancel_seq,), severity=severity)


@end_rule("v2.cancelled")
def cancelled_work_ends(talk: Conversation) -> Iterator[Breach]:
    """Finds cancelled work that an agent leaves without a word."""
    if not talk.is_over or talk.left != AGENT:
        return
    for turn in talk.turns.values():
        if turn.must_confirm and turn.cancel_seq is not None and not _is_waiting(turn, talk):
            text = "the work was cancelled, but the agent ended before the session was idle"
            yield Breach(text, (turn.prompt_seq,), by=AGENT, seq=turn.cancel_seq)


@rule("v2.custom-value", messages=True, alone=True)
def custom_names_have_an_underscore(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds names that are neither defined nor marked as custom."""
    found = [
        (place, name)
        for place, name in talk.compared(seen).unnamed
        if not name.startswith("_") and MARKER.fullmatch(name) is None and not _is_elsewhere(place)
    ]
    for place, name in found[:_LISTED]:
        text = (
            f"the {parts_of(place)[-1]} {shown(name)} is not defined, and custom ones begin with _"
        )
        yield Breach(text, place=place)


@rule("v2.auth-surface", requests=("auth/login", "auth/logout"))
def login_is_offered(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds logins and logouts with an agent that offers no way to log in."""
    announced = talk.agent.announced or {}
    is_offered = "authMethods" in announced and announced["authMethods"] != []
    if seen.sender == CLIENT and talk.agent.is_known and not is_offered:
        related = frames_of(talk.agent)
        yield Breach(f"{seen.method} is called, but the agent offers no login method", related)


@rule("v2.mcp-type", requests=OPENING)
def servers_name_their_type(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds MCP servers without a type, or by stdio for an agent that does not offer it."""
    is_offered = not talk.agent.is_known or talk.agent.offers("session", "mcp", "stdio")
    related = frames_of(talk.agent)
    for at, server in servers_of(seen):
        name, place = shown(server.get("name")), f"/params/mcpServers/{at}/type"
        if server.get("type") is None:
            yield Breach(f"the MCP server {name} has no type", place=place)
        elif server["type"] == "stdio" and not is_offered:
            text = not_offered(f"the MCP server {name}", "session.mcp.stdio", AGENT)
            yield Breach(text, related, place=place)


@rule("v2.message-id", updates=MESSAGES, alone=True)
def messages_have_ids(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds messages, and pieces of them, without an id."""
    if "update" in seen.params and seen.update.get("messageId") is None:
        yield Breach(f"{seen.update_kind} has no messageId", place="/params/update/messageId")


def _is_by_update(ended: EndedTurn, talk: Conversation) -> bool:
    """Whether an update has ended the turn, and the agent had accepted its prompt."""
    return not ended.is_error and not ended.is_answer and not _is_waiting(ended.turn, talk)


def _is_waiting(turn: TurnRecord, talk: Conversation) -> bool:
    """Whether a prompt is not accepted yet, so that what is reported is about earlier work."""
    return turn.exchange is not None and turn.exchange in talk.asked


def _is_elsewhere(place: str) -> bool:
    """Whether another rule tells of names at a place."""
    parts = parts_of(place)
    return parts == ("params", "update", "sessionUpdate") or parts[1:2] == ("mcpServers",)
