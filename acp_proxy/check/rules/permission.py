"""Rules about permission requests and their answers."""

from collections import Counter

from acp_proxy.check.check_values import Breach, Breaches, Severity, shown
from acp_proxy.check.checked_message import CLIENT, CheckedMessage, items, strings
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.registry import end_rule, rule
from acp_proxy.protocol.dialects import DRAFT, PERMISSION, V2
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.permissions import options_of

_OUTCOMES = ("selected", "cancelled")


@rule("perm.options-unique", requests=(PERMISSION,), alone=True)
def option_ids_differ(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds options with the same id."""
    ids = Counter(strings(option.get("optionId") for option in options_of(message.value)))
    for name, count in ids.items():
        if count > 1:
            yield Breach(f"{count} options have the id {shown(name)}")


@rule("perm.options-empty", requests=(PERMISSION,), alone=True)
def there_is_a_choice(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds requests without options; the type in version 2 requires one."""
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
    if conversation.dialect == DRAFT or message.value is None:
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
    elif word not in _OUTCOMES and not (isinstance(word, str) and word.startswith("_")):
        text = f"the outcome is {shown(word)}, neither selected nor cancelled"
        yield Breach(text, place="/result/outcome/outcome")


@rule("perm.asked-again", results=(PERMISSION,))
def remember_grants(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers tool calls that are always allowed."""
    request, chosen = message.request, member(message.result, "outcome", "optionId")
    kinds = [option.get("kind") for option in options_of(None if request is None else request.value)
             if option.get("optionId") == chosen]  # fmt: skip
    if request is not None and kinds == ["allow_always"] and (key := _asked(request)):
        conversation.memory.grants.add(key, message.seq)


@rule("perm.asked-again", requests=(PERMISSION,))
def grants_are_used(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds permission requests for tool calls that are always allowed."""
    if granted := conversation.memory.grants.get(_asked(message)):
        yield Breach("what was allowed always is asked for again", (granted,))


def _asked(message: CheckedMessage) -> str:
    """Returns a key for a tool call within its session; empty if nothing identifies it."""
    call = message.params.get("toolCall")
    said = member(call, "title"), member(call, "rawInput")
    return f"{message.session} {said}" if all(said) else ""


@end_rule("perm.unanswered")
def all_are_answered(conversation: Conversation) -> Breaches:
    """Finds permission requests that were never answered.

    A person may take time to decide. So if both the request and its turn were open when the client
    left, the finding is only a warning. An agent that leaves needs no answer.
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
