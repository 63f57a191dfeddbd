"""Rules about cancelling turns.

A cancel and the end of its turn may cross: the agent may have written the last updates and the
answer before it read the cancel. The rules assume this only for a short time; `registry` has
the limits.
"""

from acp_proxy.check.check_values import Breach, Breaches, Severity, frames_of, shown
from acp_proxy.check.checked_message import AGENT, CLIENT, CheckedMessage
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.conversation.session_record import EndedTurn
from acp_proxy.check.registry import IN_FLIGHT_NS, MOMENT_NS, end_rule, rule, turn_rule
from acp_proxy.check.rules.prompts import late_for, was_cancelled
from acp_proxy.protocol.dialects import CANCEL, DRAFT, PERMISSION, PROMPT, V1
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.protocol.permissions import options_of, read_answer
from acp_proxy.protocol.updates import NEW_CHILD, RUNNING, TURN_OUTPUT

_CANCELLED = "cancelled"
_REASONS = ("end_turn", "max_tokens", "max_turn_requests", "refusal")
_CANCELLED_CODE, _DRAFT_CANCELLED_CODE = -32800, -32003
_WORKING = ("fs/read_text_file", "fs/write_text_file", "terminal/create")


@turn_rule("cancel.stop-reason")
def cancel_is_confirmed(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds cancelled turns with a valid stop reason other than "cancelled"."""
    if not ended.turn.must_confirm or ended.stop_reason not in _REASONS:
        return
    took_ns = ended.t_ns - ended.turn.cancel_ns
    is_first = ended.turn.from_agent <= 1
    if is_first and took_ns <= IN_FLIGHT_NS:
        return
    is_crossing = is_first or took_ns <= MOMENT_NS
    text = f"the turn was cancelled, but ends with {ended.stop_reason}"
    yield Breach(text, _cancel_of(ended), severity=Severity.WARNING if is_crossing else None)


@turn_rule("cancel.error")
def errors_are_caught(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds cancelled turns that end with an error."""
    if not ended.turn.must_confirm or not ended.is_error:
        return
    if conversation.dialect == DRAFT and ended.error_code == _DRAFT_CANCELLED_CODE:
        return
    took_ns = ended.t_ns - ended.turn.cancel_ns
    is_first = ended.turn.from_agent <= 1
    if is_first and took_ns <= IN_FLIGHT_NS:
        return
    is_crossing = took_ns <= MOMENT_NS
    text = f"the turn was cancelled, but ends with {_error(ended.error_code)}"
    yield Breach(text, _cancel_of(ended),
                 severity=Severity.WARNING if is_crossing else None)  # fmt: skip


@end_rule("cancel.unanswered")
def cancelled_prompts_are_answered(conversation: Conversation) -> Breaches:
    """Finds cancelled prompts that the agent did not answer, although it had the time."""
    if not conversation.is_over:
        return
    for request in conversation.open_at_leaving:
        turn = conversation.turn(request.transition.turn) if request.method == PROMPT else None
        if turn is None or turn.cancel_seq is None or not turn.must_confirm:
            continue
        is_overtaken = conversation.is_overtaken(turn.session, request.seq)
        if conversation.left == AGENT or request.seq in conversation.hung or is_overtaken:
            yield Breach("the prompt was cancelled and never answered", (turn.cancel_seq,),
                         by=AGENT, seq=request.seq, explains=("rpc.unanswered",))  # fmt: skip


@rule("cancel.update-after", updates=TURN_OUTPUT)
def updates_precede_the_end(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds output after the end of a cancelled turn."""
    end = late_for(message, conversation)
    if end is not None and was_cancelled(end):
        text = f"{message.update_kind} comes after the turn has ended as cancelled"
        yield Breach(text, (*_cancel_of(end), end.seq))


@rule("cancel.permission", notifications=(CANCEL,))
def remember_pending_permissions(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers the permission requests that a cancel must settle."""
    if conversation.dialect == V1 and message.sender == CLIENT and message.session is not None:
        pending = conversation.memory.pending_permissions
        for request in conversation.open_requests(Direction.TO_CLIENT):
            is_of_session = request.method == PERMISSION and request.session == message.session
            if is_of_session and request.seq not in pending:
                pending.add(request.seq, message.seq)


@rule("cancel.permission", answers=(PERMISSION,))
def permissions_are_cancelled(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds permission requests that are answered with an option after a cancel.

    Also finds requests that were open at the cancel and were answered with an error.
    """
    request = message.request
    if request is None or conversation.dialect != V1:
        return
    cancel = conversation.memory.pending_permissions.remove(request.seq)
    was_pending = cancel is not None
    if not was_pending:  # the request came after the cancel
        turn = conversation.turn(request.transition.turn)
        cancel = turn.cancel_seq if turn is not None and turn.must_confirm else None
    if cancel is None:
        return
    answer = read_answer(options_of(request.value), message.value)
    related = (request.seq, cancel)
    if isinstance(answer.option_id, str) and not answer.is_cancelled:
        text = f"the client has cancelled the turn, but selects {shown(answer.option_id)}"
        yield Breach(text, related)
    elif was_pending and message.is_error and message.parsed.error_code != _CANCELLED_CODE:
        error = _error(message.parsed.error_code)
        text = f"the client has cancelled the turn, but answers a permission request with {error}"
        yield Breach(text, related)


@turn_rule("cancel.permission-unasked")
def outcome_follows_a_cancel(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds permission requests that are answered as cancelled in a turn that is never cancelled.

    Nothing is found if the client cancels the turn after the answer.
    """
    turn = ended.turn
    if turn.dropped is None or turn.cancel_seq is not None or conversation.dialect != V1:
        return
    if conversation.left:
        return
    asked, answered = turn.dropped
    text = "a permission request is answered as cancelled, but the turn was not cancelled"
    yield Breach(text, (asked,), by=CLIENT, seq=answered)


@turn_rule("cancel.reason-unasked")
def reason_follows_a_cancel(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds turns that end as cancelled although the client did not cancel them.

    Options such as "No, and stop" may cancel the turn. If the client selects such an option,
    nothing is found.
    """
    turn = ended.turn
    if ended.stop_reason != _CANCELLED or turn.cancel_seq is not None or conversation.left:
        return
    was_refused = any(call.refused_seq is not None for call in turn.calls.values())
    if turn.dropped is None and not turn.was_cancelling and not was_refused:
        text = "the turn ends as cancelled, but the client has not cancelled it"
        yield Breach(text, (turn.prompt_seq,))


@rule("cancel.no-turn", notifications=(CANCEL,))
def there_is_a_turn(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports cancels of idle sessions. A cancel that crosses the end of a turn is allowed."""
    session = conversation.session(message.session)
    if session is None or message.sender != CLIENT or conversation.turn_of(session.id) is not None:
        return
    if session.closed_seq is not None or session.state in ("running", "requires_action"):
        return
    if session.opened == NEW_CHILD:
        return  # the turn belongs to the parent session
    end = conversation.last_ends.get(session.id)
    if end is None or message.t_ns - end.t_ns > MOMENT_NS:
        yield Breach("there is no turn to cancel", frames_of(end))


@rule("cancel.keeps-working", requests=(PERMISSION, *_WORKING))
def work_stops(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds new requests in a cancelled turn. A request that may cross the cancel is allowed."""
    turn = conversation.turn(message.transition.turn)
    if turn is None or turn.cancel_seq is None or not turn.must_confirm or message.sender != AGENT:
        return
    if turn.from_agent and message.t_ns - turn.cancel_ns > MOMENT_NS:
        text = f"the agent calls {message.method} in a turn that was cancelled"
        yield Breach(text, (turn.cancel_seq,))


@turn_rule("cancel.tools-left")
def tools_are_settled(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Reports tool calls that are open at the end of a cancelled turn (1.0 draft)."""
    if ended.stop_reason != _CANCELLED:
        return
    for call in ended.turn.calls.values():
        if call.status in RUNNING:
            name = shown(call.id)
            text = f"the turn ends as cancelled, but the tool call {name} is {call.status}"
            yield Breach(text, (call.status_seq or call.seq,))


def _error(code: int | None) -> str:
    return "an error" if code is None else f"error {code}"


def _cancel_of(ended: EndedTurn) -> tuple[int, ...]:
    return frames_of(ended.turn.cancel_seq)
