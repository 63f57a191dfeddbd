"""Finds requests, logins and turns that failed."""

from collections.abc import Iterable, Iterator

from acp_proxy.inspection.describe.errors import describe_error
from acp_proxy.inspection.describe.sessions import turn_error
from acp_proxy.inspection.describe.values import HEAD, word
from acp_proxy.inspection.diagnosis.context import MOST, DiagnosisContext, quoted_prompt
from acp_proxy.inspection.diagnosis.environment import (
    LOGIN_OR_NETWORK,
    outside_reason,
    stderr_line,
)
from acp_proxy.inspection.diagnosis.errors import error_text
from acp_proxy.inspection.diagnosis.messages import (
    messages_of_exchanges,
    read_messages,
    request_text,
    requests_by_number,
)
from acp_proxy.inspection.diagnosis.values import ErrorTally
from acp_proxy.inspection.findings import AGENT, ENVIRONMENT, FAULT, Finding, Severity
from acp_proxy.protocol.dialects import (
    DRAFT,
    INITIALIZE,
    LOGIN,
    OPENING,
    PERMISSION,
    PROMPT_WITH_CONTENT,
    V2,
)
from acp_proxy.protocol.updates import kind_and_update
from acp_proxy.safe_text import plain
from acp_proxy.store.exchange_queries import TurnRow, exchanges, has_succeeded_after
from acp_proxy.store.frame_queries import stray_errors
from acp_proxy.wording import without_middle

ANSWER = "answer.error"
_INTERNAL = -32603
_LONGEST = 300
_MOST_LOGINS = 100
_NEEDED = (*INITIALIZE, *LOGIN, *OPENING)
"""Requests that have to succeed before the conversation can continue."""
_LOGIN_NEEDED = "authentication required"


def failed_requests(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds all errors that are not routine."""
    for error in context.errors:
        if error.is_routine:
            continue
        by, text, severity = error.charged, _sentence(error), _severity(context, error)
        if by == AGENT or (by is None and error.direction == "to-agent"):
            reason, line = outside_reason(error.message), ""
            if reason is None and error.code == _INTERNAL:
                reason, line = stderr_line(context)
            if reason in LOGIN_OR_NETWORK and not error.why:
                by = ENVIRONMENT
                said = f', stderr says "{line}"' if line else ""
                text = f"{text}: {reason}{said}"
        unblamed = "the error does not say whose fault it is" if by is None else None
        is_senders = error.why and by != FAULT
        seq, related = error.seq, (error.request_seq,)
        if is_senders:
            seq, related = error.request_seq, (error.seq,)
        yield Finding(ANSWER, severity, by, seq, text, related, unblamed)


def errors_without_requests(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds errors whose requests may be missing in what was imported."""
    if context.recording.has_all_lines:
        return
    found: dict[str, list[int]] = {}
    for answer in read_messages(context.reader, stray_errors(context.reader, MOST), HEAD):
        found.setdefault(describe_error(answer.message.get("error")), []).append(answer.seq)
    for text, seqs in found.items():
        times = f", {len(seqs):,} times, first" if len(seqs) > 1 else ""
        what = "a request that is not in what was imported was answered with error"
        text, why = f"{what} {plain(text)}{times} (#{seqs[0]})", "the request is not known"
        yield Finding(ANSWER, Severity.ERROR, None, seqs[0], text, (*seqs[1:],), why)


def refused_logins(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds results of a login, not errors, that have ``success`` false (draft-1.0)."""
    rows = exchanges(
        context.reader, methods=LOGIN, direction="to-agent", outcome="result", most=_MOST_LOGINS
    )
    requests = {(row.response_seq, row.id): row.request_seq for row in rows}
    answers = messages_of_exchanges(context.reader, requests)
    refused = [key for key in answers if answers[key].part("result").get("success") is False]
    asked = requests_by_number(context.reader, (requests[key] for key in refused))
    for key in refused:
        answer, seq = answers[key], requests[key]
        what = request_text(answer.method, seq, asked.get(seq))
        reason = plain(word(answer.part("result"), "error", "message"))[:100]
        rule = context.faults.injected.get(answer.seq)
        who = f"fault {rule}" if rule is not None else "the agent"
        why = f", {reason}" if reason else ""
        text = f"{who} refused {what}: success is false{why} (#{answer.seq})"
        if rule is None:
            yield Finding(ANSWER, Severity.ERROR, ENVIRONMENT, answer.seq, text, (seq,))
        else:
            yield Finding("fault.effect", Severity.WARNING, FAULT, answer.seq, text, (seq,))


def failed_turns(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds turns that the agent ended with the stop reason ``error``, or with an error (v2)."""
    reasons = ("error", None) if context.recording.dialect == V2 else ("error",)
    failed = [turn for turn in context.turns if turn.stop_reason in reasons]
    ends = {one.seq: one for one in read_messages(context.reader, _ends(failed), HEAD)}
    for turn in failed:
        if turn.end_seq is not None:
            end = ends.get(turn.end_seq)
            update = {} if end is None else kind_and_update(end.part("params"))[1]
            why = turn_error(update)
            if turn.stop_reason is None and not why:
                continue
            prompt = quoted_prompt(context, turn)
            rule = context.faults.injected.get(turn.end_seq)
            what = f"turn {turn.id} (prompt{prompt} #{turn.prompt_seq})"
            by_whom = "" if rule is None else f", which fault {rule} made up"
            reason = f"error: {without_middle(plain(why), _LONGEST)}" if why else "error"
            how = "with" if turn.stop_reason is None else "with stop reason"
            text = f"{what} ended {how} {reason}{by_whom} (#{turn.end_seq})"
            is_fault = rule is not None
            severity = Severity.WARNING if is_fault else Severity.ERROR
            by = FAULT if is_fault else AGENT
            if not is_fault and why and outside_reason(why) in LOGIN_OR_NETWORK:
                by = ENVIRONMENT
            yield Finding(ANSWER, severity, by, turn.end_seq, text, (turn.prompt_seq,))


def _ends(turns: Iterable[TurnRow]) -> list[int]:
    return [turn.end_seq for turn in turns if turn.end_seq is not None]


def prompts_of_the_draft(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds a prompt for which alone an excerpt is taken for one of the draft."""
    recording = context.recording
    if recording.lost("start") and recording.dialect_reason == PROMPT_WITH_CONTENT:
        seq = context.turns[0].prompt_seq if context.turns else None
        where = "" if seq is None else f" (#{seq})"
        text = (
            f"session/prompt{where} has content, as in {DRAFT}, and lacks prompt, which v1 requires"
        )
        why = "an excerpt does not show which dialect it is"
        yield Finding("recording.dialect", Severity.INFO, None, seq or 0, text, unblamed=why)


def empty_turns(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds turns that end well though the agent has sent nothing in them.

    Agents may do that, but in an excerpt that somebody has chosen it is what matters.
    """
    if context.recording.origin is None or context.recording.lost("middle"):
        return
    for turn in context.turns:
        if turn.stop_reason == "end_turn" and not turn.updates and turn.end_seq is not None:
            prompt = quoted_prompt(context, turn)
            what = f"turn {turn.id} (prompt{prompt} #{turn.prompt_seq})"
            text = f"{what} ended with end_turn, without any update (#{turn.end_seq})"
            yield Finding(
                "answer.empty-turn", Severity.INFO, AGENT, turn.end_seq, text, (turn.prompt_seq,)
            )


def _severity(context: DiagnosisContext, error: ErrorTally) -> Severity:
    if error.charged == FAULT:
        return Severity.WARNING
    is_refused_question = (error.direction, error.method) == ("to-client", PERMISSION)
    if error.why.startswith("with") or error.method == "session/prompt" or is_refused_question:
        return Severity.ERROR
    if error.direction == "to-client" or error.method not in _NEEDED:
        return Severity.INFO
    # Only a login was missing, after which the same request succeeded; or an old session was gone.
    again = error.method if error.name == _LOGIN_NEEDED else None
    if error.method in OPENING[1:]:
        again = OPENING[0]
    is_overcome = again is not None and has_succeeded_after(context.reader, again, error.seq)
    return Severity.INFO if is_overcome else Severity.ERROR


def _sentence(error: ErrorTally) -> str:
    method, what = plain(error.method or "?")[:80], error_text(error)
    times = f", {error.count:,} times, first" if error.count > 1 else ""
    times = f"{times} (#{error.seq})"
    if error.charged == FAULT:
        return f"fault {error.why} answered {method} with {what}{times}"
    if error.why:
        comma = "" if error.why.startswith("with") else ","
        return f"the {error.charged} sent {method}{comma} {error.why}: {what}{times}"
    if error.charged is not None:
        return f"the {error.charged} answered {method} with {what}{times}"
    return f"{method} was answered with {what}{times}"
