"""Rules about types: params, results and extra members, by the schemas of the dialect.

These rules run after all other rules. Values that have broken another rule are skipped.
"""

import re
from collections.abc import Iterable, Iterator

from acp_proxy.check.check_values import Breach, Breaches, Severity, frames_of, shown
from acp_proxy.check.checked_message import CheckedMessage
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.registry import ANY, rule
from acp_proxy.check.schema_check import DialectSchema
from acp_proxy.check.schema_problems import Mismatch, SchemaProblem
from acp_proxy.protocol.dialects import DRAFT, INITIALIZE, V1, V2
from acp_proxy.protocol.json_text import member
from acp_proxy.redaction.markers import MARKER

_MOST_NAMED, _SAID = 5, 200
_UNREADABLE = re.compile(
    r"missing field|unknown (?:field|variant)|did not match any|invalid[_ ]type\b|field required"
    r"|expected \w+, received|unrecognized key|cannot (?:un|de)(?:marshal|serialize)",
    re.IGNORECASE,
)
"""Matches the words of JSON libraries about values that do not have the expected type."""


@rule("rpc.schema-params", "last")
def params_fit(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds params that do not match the type of their method."""
    for problem in _first_of_each(_params_problems(message, conversation)):
        if not _is_missing_in_draft(problem, conversation):
            text = f"params of {message.method}: {problem}"
            yield Breach(text, place=problem.pointer, severity=_severity(problem))


@rule("rpc.schema-result", "last")
def result_fits(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds results that do not match the type of their method."""
    for problem in _first_of_each(_result_problems(message, conversation)):
        if not _is_missing_in_draft(problem, conversation):
            text = f"result of {message.method}: {problem}"
            severity = _severity(problem)
            yield Breach(text, frames_of(message.request), place=problem.pointer, severity=severity)


@rule("rpc.valid-refused", answers=(ANY,))
def what_is_valid_is_read(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds errors that call a request unreadable although the request matches its type."""
    said = f"{message.error.get('message')} {message.error.get('data')}"
    request = message.request if message.is_error and _UNREADABLE.search(said) else None
    if request is not None and conversation.is_of_its_type(request):
        text = f"{message.method} has the right form, but its receiver could not read it"
        yield Breach(f"{text}: {shown(said, _SAID)}", (request.seq,))


@rule("s4.required", "last")
def required_is_there(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds missing members that the 1.0 draft requires."""
    problems = _params_problems(message, conversation) + _result_problems(message, conversation)
    related = frames_of(message.request)
    for problem in problems:
        if _is_missing_in_draft(problem, conversation):
            yield Breach(f"{message.method}: {problem}", related, place=problem.pointer)


@rule("meta.root-field", "last")
def nothing_is_added(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds members outside ``_meta`` that no version of the schema defines."""
    places = conversation.compared(message).extra
    if places and message.method in INITIALIZE and not message.is_result:
        # A client that speaks both versions announces itself in both forms.
        for other in map(DialectSchema.of_dialect, (V1, V2)):
            known = message.compared_with(other).extra
            places = [place for place in places if place in known]
    if places := [path for path in places if not _is_broken(path, message.broken)]:
        named = ", ".join(places[:_MOST_NAMED])
        more = f" and {len(places) - _MOST_NAMED} more" if len(places) > _MOST_NAMED else ""
        yield Breach(f"{message.method} has members that its type does not name: {named}{more}",
                     place=places[0])  # fmt: skip


def _first_of_each(problems: list[SchemaProblem]) -> Iterator[SchemaProblem]:
    """Yields the problems, but only the first missing member of each object."""
    lacking: set[str] = set()
    for problem in problems:
        if problem.mismatch is Mismatch.MISSING:
            parent = problem.pointer.rpartition("/")[0]
            if parent in lacking:
                continue
            lacking.add(parent)
        yield problem


def _params_problems(message: CheckedMessage, conversation: Conversation) -> list[SchemaProblem]:
    return [] if message.is_result else _problems(message, conversation)


def _result_problems(message: CheckedMessage, conversation: Conversation) -> list[SchemaProblem]:
    is_both = member(message.value, "error") is not None
    return _problems(message, conversation) if message.is_result and not is_both else []


def _problems(message: CheckedMessage, conversation: Conversation) -> list[SchemaProblem]:
    """Returns the problems that no other rule has reported. Masked values are left out."""
    return [
        problem
        for problem in conversation.compared(message).problems
        if not (_is_broken(problem.pointer, message.broken) or MARKER.search(problem.got))
    ]


def _severity(problem: SchemaProblem) -> Severity | None:
    """Returns a warning for a null that receivers accept as the default; otherwise None."""
    return Severity.WARNING if problem.mismatch is Mismatch.NULL else None


def _is_missing_in_draft(problem: SchemaProblem, conversation: Conversation) -> bool:
    return conversation.dialect == DRAFT and problem.mismatch is Mismatch.MISSING


def _is_broken(place: str, broken: Iterable[str]) -> bool:
    """Whether another rule has reported a value, a value inside it, or a value around it."""
    return any(
        place == other or place.startswith(f"{other}/") or other.startswith(f"{place}/")
        for other in broken
    )
