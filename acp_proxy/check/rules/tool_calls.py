"""Rules about tool calls: their ids, statuses, content and paths, and permission for them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from acp_proxy.check.check_values import Breach, Breaches, Severity, frames_of, is_relative, shown
from acp_proxy.check.checked_message import CLIENT, CheckedMessage, integer, items, strings
from acp_proxy.check.conversation.conversation import CALL, TERMINAL, Conversation
from acp_proxy.check.conversation.session_record import NAMING, CallRecord
from acp_proxy.check.registry import end_rule, rule
from acp_proxy.protocol.dialects import DRAFT, OPENING, PERMISSION, V1, V2
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.permissions import options_of
from acp_proxy.protocol.updates import TOOL_CALLS

_CALL, _UPDATE = TOOL_CALLS
_BLOCKS = ("text", "image", "audio", "resource", "resource_link")
_RUNNING = ("in_progress", "completed")


@rule("tool.unknown", updates=(_UPDATE,))
def call_was_announced(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds updates of unannounced tool calls. In v2, the first update announces a call."""
    session, name = conversation.session(message.session), message.parsed.tool_call
    if session is None or name is None or not session.calls.lacks(name):
        return
    if conversation.pairs.excused[CALL]:
        return  # the announcement of the call could not be read
    if not conversation.is_opening(message.session, *OPENING):
        text = f"the tool call {shown(name)} was not announced"
        yield Breach(text, place=_place(conversation, "toolCallId"))


@rule("tool.id-reused", updates=(_CALL,))
def call_is_new(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds a second ``tool_call`` with the same id, except in a history."""
    session, name = conversation.session(message.session), message.parsed.tool_call
    call = None if session is None or name is None else session.calls.get(name)
    if call is None or call.announced_seq is None:
        return
    if not conversation.is_opening(message.session, *OPENING):
        name = shown(call.id) if call.id else "with an empty id"
        text = f"the tool call {name} is announced again"
        severity = None if call.is_over else Severity.WARNING
        yield Breach(text, (call.announced_seq,), severity=severity,
                     place=_place(conversation, "toolCallId"))  # fmt: skip


@rule("tool.permission-first", requests=(PERMISSION,))
def call_comes_before_permission(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports permission requests for unannounced tool calls."""
    session, name = conversation.session(message.session), message.parsed.tool_call
    if session is not None and name is not None and session.calls.lacks(name):
        yield Breach(f"permission is asked for the tool call {shown(name)} before it is announced")


@rule("tool.final-changed", updates=TOOL_CALLS)
def final_is_final(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds tool calls whose status changes after they have ended."""
    call, status = _known(message, conversation), message.parsed.status
    if call is None or status is None or not call.is_over or status == call.status:
        return
    if not conversation.is_opening(message.session, *OPENING):
        text = f"the tool call {shown(call.id)} was {call.status}, but becomes {status}"
        yield Breach(text, frames_of(call.status_seq))


@rule("tool.status-back", updates=TOOL_CALLS)
def status_goes_on(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds tool calls whose status goes back from in_progress to pending."""
    call = _known(message, conversation)
    is_back = message.parsed.status == "pending" and "status" in message.update
    if call is not None and call.status == "in_progress" and is_back:
        text = f"the tool call {shown(call.id)} was in_progress, but becomes pending"
        yield Breach(text, frames_of(call.status_seq))


@rule("tool.runs-unanswered", updates=(_UPDATE,))
def answers_come_first(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds tool calls that run while a permission request for them is open."""
    call = _known(message, conversation)
    if call is not None and call.asked_seq is not None and message.parsed.status in _RUNNING:
        text = f"the tool call {shown(call.id)} is {message.parsed.status}"
        yield Breach(f"{text} before its permission is answered", (call.asked_seq,))


@rule("tool.no-progress", updates=(_UPDATE,))
def progress_is_reported(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports tool calls that end without having been in progress.

    Refused tool calls, and tool calls of a cancelled turn, are left out: they never run.
    """
    call, turn = _known(message, conversation), conversation.turn(message.transition.turn)
    if call is None or call.status != "pending" or call.has_run or call.refused_seq is not None:
        return
    if turn is not None and turn.cancel_seq is not None:
        return
    if conversation.is_opening(message.session, *OPENING):
        return
    if message.parsed.status in ("completed", "failed"):
        text = f"the tool call {shown(call.id)} was never in_progress"
        yield Breach(text, frames_of(call.status_seq))


@rule("tool.update-empty", updates=(_UPDATE,), alone=True)
def update_changes_something(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports updates that contain only the id of the tool call."""
    if message.update.keys() <= {"sessionUpdate", "toolCallId", "id"} and message.update:
        name = shown(message.parsed.tool_call)
        yield Breach(f"the update of the tool call {name} changes nothing")


@rule("tool.emptied", updates=(_UPDATE,), requests=(PERMISSION,))
def what_is_known_stays(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds tool calls whose title or input becomes empty."""
    call, (said, place) = _known(message, conversation), _call(message)
    for name in NAMING:
        if call is not None and said.get(name) in ("", {}) and name in call.named:
            text = f"the {name} of the tool call {shown(call.id)} was given, but becomes empty"
            yield Breach(text, (call.named[name],), place=f"{place}/{name}")


@rule("tool.content-form", updates=TOOL_CALLS, requests=(PERMISSION,), alone=True)
def content_has_items(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds content blocks of a tool call that are not wrapped in a content item."""
    call, place = _call(message)
    for at, item in enumerate(items(call.get("content"))):
        kind = member(item, "type")
        if kind in _BLOCKS:
            text = f'content has a bare block of type {kind}, not an item of type "content"'
            yield Breach(text, place=f"{place}/content/{at}")


@rule("tool.path-absolute", updates=TOOL_CALLS, requests=(PERMISSION,), alone=True)
def paths_are_absolute(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds relative paths of diffs and locations."""
    call, place = _call(message)
    for at, item in enumerate(items(call.get("content"))):
        if member(item, "type") == "diff" and is_relative(path := member(item, "path")):
            text = f"the path {shown(path)} of a diff is not absolute"
            yield Breach(text, place=f"{place}/content/{at}/path")
    for at, location in enumerate(items(call.get("locations"))):
        if is_relative(path := member(location, "path")):
            text = f"the path {shown(path)} of a location is not absolute"
            yield Breach(text, place=f"{place}/locations/{at}/path")
    location = call.get("location")
    if conversation.dialect == DRAFT and is_relative(path := member(location, "path")):
        yield Breach(f"the path {shown(path)} of a location is not absolute",
                     place=f"{place}/location/path")  # fmt: skip


@rule("tool.line", updates=TOOL_CALLS, requests=(PERMISSION,), alone=True)
def lines_begin_with_1(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds line numbers below 1 in locations."""
    call, place = _call(message)
    for at, location in enumerate(items(call.get("locations"))):
        line = integer(member(location, "line"))
        if line is not None and line < 1:
            yield Breach(f"the line of a location is {line}; the first line is 1",
                         place=f"{place}/locations/{at}/line")  # fmt: skip


@rule("tool.terminal-unknown", updates=TOOL_CALLS, requests=(PERMISSION,))
def terminal_was_created(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds tool calls that show a terminal which the client has not created.

    Terminals that the agent runs are left out if the client has announced
    ``_meta.terminal_output``, a Zed extension.
    """
    if conversation.dialect != V1 or conversation.is_opening(message.session, *OPENING):
        return
    if conversation.client.offers("_meta", "terminal_output"):
        return
    for place, name in _terminals(message):
        if conversation.terminals.lacks(name) and not conversation.pairs.excused[TERMINAL]:
            yield Breach(f"the terminal {shown(name)} was not created", place=place)


@rule("tool.terminal-released", updates=TOOL_CALLS)
def terminal_is_not_released(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds tool calls that show a terminal for the first time after its release."""
    if conversation.dialect != V1 or conversation.is_opening(message.session, *OPENING):
        return
    call = _known(message, conversation)
    for place, name in _terminals(message):
        terminal = conversation.terminals.get(name)
        is_shown = call is not None and name in call.terminals
        if terminal is not None and terminal.release_seq is not None and not is_shown:
            text = f"the terminal {shown(name)} is shown for the first time after its release"
            yield Breach(text, (terminal.release_seq,), place=place)


@rule("tool.ran-unpermitted", updates=TOOL_CALLS)
def refused_does_not_run(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds tool calls that go on after their permission was refused.

    A completed call is a breach. A call in progress is only a hint, since the agent may not have
    read the refusal yet.
    """
    call, status = _known(message, conversation), message.parsed.status
    if call is None or call.refused_seq is None or status not in _RUNNING or call.is_over:
        return
    severity = Severity.INFO if status == "in_progress" else None
    text = f"the tool call {shown(call.id)} was refused, but is {status}"
    yield Breach(text, (call.refused_seq,), severity=severity)


def _known(message: CheckedMessage, conversation: Conversation) -> CallRecord | None:
    """Returns the record of the tool call in a message; None if the message begins a call."""
    session, name = conversation.session(message.session), message.parsed.tool_call
    if session is None or name is None or message.transition.begins_call:
        return None
    return session.calls.get(name)


def _call(message: CheckedMessage) -> tuple[dict[str, Any], str]:
    """Returns the members of a message that describe the tool call, and the pointer to them."""
    if message.update_kind:
        is_draft = "update" not in message.params
        return message.update, "/params/data" if is_draft else "/params/update"
    for names in (("toolCall",), ("subject", "toolCall")):
        if isinstance(call := member(message.params, *names), dict):
            return call, "/params/" + "/".join(names)
    return {}, "/params/toolCall"


def _terminals(message: CheckedMessage) -> Iterator[tuple[str, str]]:
    call, place = _call(message)
    for at, item in enumerate(items(call.get("content"))):
        name = member(item, "terminalId")
        if member(item, "type") == "terminal" and isinstance(name, str):
            yield f"{place}/content/{at}/terminalId", name


def _place(conversation: Conversation, name: str) -> str:
    return "/params/data/id" if conversation.dialect == DRAFT else f"/params/update/{name}"


@rule("perm.options-unique", requests=(PERMISSION,), alone=True)
def option_ids_differ(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds options with the same id."""
    ids = Counter(strings(option.get("optionId") for option in options_of(message.value)))
    for name, count in ids.items():
        if count > 1:
            yield Breach(f"{count} options have the id {shown(name)}")


@rule("perm.options-empty", requests=(PERMISSION,), alone=True)
def there_is_a_choice(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds permission requests without options. Except in v2, this is only a warning."""
    if message.params.get("options") == []:
        severity = None if conversation.dialect == V2 else Severity.WARNING
        yield Breach("a permission request offers no options", place="/params/options",
                     severity=severity)  # fmt: skip


@rule("perm.option-unknown", results=(PERMISSION,))
def option_was_offered(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds selected options that the request did not offer."""
    name = member(message.result, "outcome", "optionId")
    if message.request is None or not isinstance(name, str):
        return
    options = message.request.params.get("options")
    offered = [member(option, "optionId") for option in items(options, None)]
    if not isinstance(options, list) or not all(isinstance(option, str) for option in offered):
        return  # the offered options are unknown
    if member(message.result, "outcome", "outcome") == "selected" and name not in offered:
        text = f"the option {shown(name)} was not offered"
        yield Breach(text, (message.request.seq,), place="/result/outcome/optionId")


@rule("perm.outcome-form", results=(PERMISSION,), alone=True)
def answer_has_an_outcome(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds answers of v1 and v2 without a valid outcome."""
    if message.value is None:
        return
    outcome = message.result.get("outcome")
    if not isinstance(outcome, dict):
        got = f'"outcome" is {shown(outcome)}, not an object'
        text = got if "outcome" in message.result else 'the answer has no "outcome"'
        yield Breach(text, place="/result")
        return
    word = outcome.get("outcome")
    if word == "selected" and not isinstance(outcome.get("optionId"), str):
        text = "the outcome is selected, but has no optionId"
        yield Breach(text, place="/result/outcome/optionId")
    elif word not in ("selected", "cancelled") and not str(word).startswith("_"):
        text = f"the outcome is {shown(word)}, neither selected nor cancelled"
        yield Breach(text, place="/result/outcome/outcome")


@rule("perm.asked-again", results=(PERMISSION,))
def remember_grants(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers tool calls that the client chose to allow always."""
    request, chosen = message.request, member(message.result, "outcome", "optionId")
    kinds = [option.get("kind") for option in options_of(None if request is None else request.value)
             if option.get("optionId") == chosen]  # fmt: skip
    if request is not None and kinds == ["allow_always"] and (key := _asked(request)):
        conversation.memory.grants.add(key, message.seq)


@rule("perm.asked-again", requests=(PERMISSION,))
def grants_are_used(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds permission requests for tool calls that the client already chose to allow always."""
    if granted := conversation.memory.grants.get(_asked(message)):
        yield Breach("what was allowed always is asked for again", (granted,))


def _asked(message: CheckedMessage) -> str:
    """Returns a key that identifies a tool call in its session; empty if nothing identifies it."""
    call = message.params.get("toolCall")
    said = member(call, "title"), member(call, "rawInput")
    return f"{message.session} {said}" if all(said) else ""


@end_rule("perm.unanswered")
def all_are_answered(conversation: Conversation) -> Breaches:
    """Finds permission requests that were never answered.

    The finding is only a warning if the client left while both the request and its turn were open:
    a person may need time to answer. If the agent left, nothing is found.
    """
    if not conversation.is_over:
        return
    for request in conversation.open_at_leaving:
        if request.method != PERMISSION:
            continue
        turn = request.transition.turn
        if turn is not None and conversation.turn(turn) is None:
            text = "a permission request was never answered, but its turn has ended"
            yield Breach(text, by=CLIENT, seq=request.seq)
        elif conversation.left == CLIENT:
            text = "the client left without an answer to a permission request"
            yield Breach(text, by=CLIENT, seq=request.seq, severity=Severity.WARNING)
