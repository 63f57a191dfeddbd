"""Rules on permission requests and their answers."""

from collections import Counter
from collections.abc import Iterator

from acp_proxy.check.check_values import Breach, Severity
from acp_proxy.check.check_wording import shown
from acp_proxy.check.checked_message import CLIENT, CheckedMessage
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.registry import end_rule, rule
from acp_proxy.protocol.dialects import DRAFT, PERMISSION, V2
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.permissions import options_of

_OUTCOMES = ("selected", "cancelled")


@rule("perm.options-unique", requests=(PERMISSION,), alone=True)
def option_ids_differ(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds two options of one id."""
    ids = Counter(
        name for one in options_of(seen.value) if isinstance(name := one.get("optionId"), str)
    )
    for name, count in ids.items():
        if count > 1:
            yield Breach(f"{count} options have the id {shown(name)}")


@rule("perm.options-empty", requests=(PERMISSION,), alone=True)
def there_is_a_choice(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds a request without options; the type of version 2 demands one."""
    if seen.params.get("options") == []:
        severity = None if talk.dialect == V2 else Severity.WARNING
        yield Breach("a permission request offers no options", place="/params/options",
                     severity=severity)  # fmt: skip


@rule("perm.option-unknown", results=(PERMISSION,))
def option_was_offered(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds a selected option that the request did not offer."""
    name = member(seen.result, "outcome", "optionId")
    if seen.request is None or not isinstance(name, str):
        return
    options = seen.request.params.get("options")
    offered = [member(one, "optionId") for one in options] if isinstance(options, list) else [None]
    if not all(isinstance(one, str) for one in offered):
        return  # what was offered is not known
    if member(seen.result, "outcome", "outcome") == "selected" and name not in offered:
        text = f"the option {shown(name)} was not offered"
        yield Breach(text, (seen.request.seq,), place="/result/outcome/optionId")


@rule("perm.outcome-form", results=(PERMISSION,), alone=True)
def answer_has_an_outcome(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds answers that are no outcome of v1 and v2."""
    if talk.dialect == DRAFT or seen.value is None:
        return
    outcome = seen.result.get("outcome")
    if not isinstance(outcome, dict):
        got = f'"outcome" is {shown(outcome)}, not an object'
        text = got if "outcome" in seen.result else 'the answer has no "outcome"'
        yield Breach(text, place="/result")
        return
    word = outcome.get("outcome")
    if word == "selected" and not isinstance(outcome.get("optionId"), str):
        yield Breach(
            "the outcome is selected, but has no optionId", place="/result/outcome/optionId"
        )
    elif word not in _OUTCOMES and not (isinstance(word, str) and word.startswith("_")):
        text = f"the outcome is {shown(word)}, neither selected nor cancelled"
        yield Breach(text, place="/result/outcome/outcome")


@rule("perm.asked-again", results=(PERMISSION,))
def remember_grants(seen: CheckedMessage, talk: Conversation) -> None:
    """Remembers what is allowed always."""
    request, chosen = seen.request, member(seen.result, "outcome", "optionId")
    kinds = [one.get("kind") for one in options_of(None if request is None else request.value)
             if one.get("optionId") == chosen]  # fmt: skip
    if request is not None and kinds == ["allow_always"] and (key := _asked(request)):
        talk.memory.grants.add(key, seen.seq)


@rule("perm.asked-again", requests=(PERMISSION,))
def grants_are_used(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds the same tool call, asked for again after it was allowed always."""
    if granted := talk.memory.grants.get(_asked(seen)):
        yield Breach("what was allowed always is asked for again", (granted,))


def _asked(seen: CheckedMessage) -> str:
    """What tells a tool call from others in its session; empty if nothing does."""
    said = member(seen.params, "toolCall", "title"), member(seen.params, "toolCall", "rawInput")
    return f"{seen.session} {said}" if all(said) else ""


@end_rule("perm.unanswered")
def all_are_answered(talk: Conversation) -> Iterator[Breach]:
    """Finds permissions that were not answered: while the turn went on to its end, or at all.

    A person may take his time, so that a request that was open when the client left, in a turn that
    was open too, is a warning. An agent that leaves need not be answered.
    """
    if not talk.is_over:
        return
    for request in talk.open_at_leaving:
        if request.method != PERMISSION:
            continue
        is_turn_over = request.done.turn is not None and talk.turn(request.done.turn) is None
        if is_turn_over:
            text = "a permission request was never answered, but its turn has ended"
            yield Breach(text, by=CLIENT, seq=request.seq)
        elif talk.left == CLIENT:
            text = "the client left without an answer to a permission request"
            yield Breach(text, by=CLIENT, seq=request.seq, severity=Severity.WARNING)
