"""Rules on types: params, results and extra members, by the schemas of the dialect.

They look at a message after all others, and keep silent on a value that has broken another rule.
"""

from collections.abc import Callable, Iterable, Iterator

from acp_proxy.conformance.checked_message import CheckedMessage
from acp_proxy.conformance.conversation import Conversation
from acp_proxy.conformance.registry import rule
from acp_proxy.conformance.schema_check import SchemaSet
from acp_proxy.conformance.schema_problems import ABSENT, Mismatch, SchemaProblem
from acp_proxy.conformance.values import Breach, Severity, frames_of
from acp_proxy.protocol.dialects import DRAFT, INITIALIZE, V1, V2
from acp_proxy.protocol.jsonrpc import Kind

_REQUEST, _NOTIFICATION, _RESPONSE = Kind.REQUEST, Kind.NOTIFICATION, Kind.RESPONSE
_MOST_NAMED = 5


@rule("rpc.schema-params", last=True)
def params_fit(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds params that are not of the type of their method."""
    for problem in _first_of_each(_params_problems(seen, talk)):
        if not _is_missing_in_draft(problem, talk):
            text = f"params of {seen.method}: {problem}"
            yield Breach(text, place=problem.pointer, severity=_severity(problem))


@rule("rpc.schema-result", last=True)
def result_fits(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds results that are not of the type of their method."""
    for problem in _first_of_each(_result_problems(seen, talk)):
        if not _is_missing_in_draft(problem, talk):
            text = f"result of {seen.method}: {problem}"
            severity = _severity(problem)
            yield Breach(text, frames_of(seen.request), place=problem.pointer, severity=severity)


@rule("s4.required", last=True)
def required_is_there(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds members that the 1.0 draft requires and that are missing."""
    for problem in (*_params_problems(seen, talk), *_result_problems(seen, talk)):
        if _is_missing_in_draft(problem, talk):
            yield Breach(
                f"{seen.method}: {problem}", frames_of(seen.request), place=problem.pointer
            )


@rule("meta.root-field", last=True)
def nothing_is_added(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
    """Finds members that no version of the schema names, and that are not in ``_meta``."""
    schemas = talk.schemas_of(seen)
    if schemas is None or not isinstance(seen.value, dict):
        return
    exchange, method = seen.answered, seen.method or ""
    if seen.message.kind is _RESPONSE and exchange is not None:
        result = seen.value.get("result")
        places = schemas.extra(seen.direction.other, method, is_result=True, value=result)
    elif seen.message.kind in (_REQUEST, _NOTIFICATION):
        params = seen.value.get("params", ABSENT)
        places = schemas.extra(seen.direction, method, is_result=False, value=params)
        if places and method in INITIALIZE:
            # A client that speaks both versions announces itself in the forms of both.
            for other in map(SchemaSet.of_dialect, (V1, V2)):
                known = other.extra(seen.direction, method, is_result=False, value=params)
                places = [place for place in places if place in known]
    else:
        return
    if places := [one for one in places if not _is_broken(one, seen.broken)]:
        named = ", ".join(places[:_MOST_NAMED])
        more = f" and {len(places) - _MOST_NAMED} more" if len(places) > _MOST_NAMED else ""
        yield Breach(f"{method} has members that its type does not name: {named}{more}",
                     place=places[0])  # fmt: skip


def _first_of_each(problems: list[SchemaProblem]) -> Iterator[SchemaProblem]:
    """Leaves out what an object lacks beside its first member that is missing."""
    lacking: set[str] = set()
    for problem in problems:
        if problem.mismatch is Mismatch.MISSING:
            parent = problem.pointer.rpartition("/")[0]
            if parent in lacking:
                continue
            lacking.add(parent)
        yield problem


def _params_problems(seen: CheckedMessage, talk: Conversation) -> list[SchemaProblem]:
    if seen.message.kind not in (_REQUEST, _NOTIFICATION) or not isinstance(seen.value, dict):
        return []
    way, method, params = seen.direction, seen.method or "", seen.value.get("params", ABSENT)
    found = _problems(seen, talk, lambda schemas: schemas.params(way, method, params))
    return [one for one in found if not _is_excused(one, seen, talk)] if found else found


def _result_problems(seen: CheckedMessage, talk: Conversation) -> list[SchemaProblem]:
    is_result = seen.message.kind is _RESPONSE and seen.answered is not None
    if not is_result or not isinstance(seen.value, dict) or seen.value.get("error") is not None:
        return []
    way, method, result = seen.direction.other, seen.method or "", seen.value.get("result")
    found = _problems(seen, talk, lambda schemas: schemas.result(way, method, result))
    return [one for one in found if not _is_excused(one, seen, talk)] if found else found


def _problems(
    seen: CheckedMessage, talk: Conversation, problems: Callable[[SchemaSet], list[SchemaProblem]]
) -> list[SchemaProblem]:
    """Returns the problems of a message; an excerpt of an unknown dialect must be wrong in all."""
    if (schemas := talk.schemas_of(seen)) is not None:
        return problems(schemas)
    if not talk.is_excerpt:
        return []
    found = [problems(SchemaSet.of_dialect(dialect)) for dialect in (V1, V2, DRAFT)]
    return found[0] if all(found) else []


def _is_excused(problem: SchemaProblem, seen: CheckedMessage, talk: Conversation) -> bool:
    """Whether another rule has found it, or a person may have left out what is missing."""
    is_left_out = talk.is_shortened and problem.mismatch is Mismatch.MISSING
    return is_left_out or _is_broken(problem.pointer, seen.broken)


def _severity(problem: SchemaProblem) -> Severity | None:
    """A null that receivers are told to read as the default does no harm."""
    return Severity.WARNING if problem.mismatch is Mismatch.NULL else None


def _is_missing_in_draft(problem: SchemaProblem, talk: Conversation) -> bool:
    return talk.dialect == DRAFT and problem.mismatch is Mismatch.MISSING


def _is_broken(place: str, broken: Iterable[str]) -> bool:
    """Whether a value, or one that it is a part of or that is a part of it, broke another rule."""
    return any(
        place == one or place.startswith(f"{one}/") or one.startswith(f"{place}/") for one in broken
    )
