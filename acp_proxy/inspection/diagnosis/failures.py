"""Finds requests, logins and turns that failed, and lines that are not messages."""

from collections.abc import Iterator

from acp_proxy.inspection.describe.values import word
from acp_proxy.inspection.diagnosis.context import DiagnosisContext, quoted_prompt
from acp_proxy.inspection.diagnosis.errors import error_text
from acp_proxy.inspection.diagnosis.messages import (
    messages_of_exchanges,
    request_text,
    requests_by_number,
)
from acp_proxy.inspection.diagnosis.values import PROBLEM, REMARK, ErrorTally, Finding
from acp_proxy.protocol.dialects import INITIALIZE, LOGIN, OPENING
from acp_proxy.protocol.peers import SENDERS
from acp_proxy.safe_text import plain
from acp_proxy.store.exchange_queries import exchanges, has_succeeded_after

_MOST_LOGINS = 100
_NEEDED = (*INITIALIZE, *LOGIN, *OPENING)
"""Requests that have to succeed before the conversation can continue."""
_LOGIN_NEEDED = "authentication required"


def failed_requests(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds all errors that are not routine."""
    for error in context.errors:
        if not error.is_routine:
            text, by = _sentence(error), error.charged
            yield Finding("error", _severity(context, error), text, [error.seq], by)


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
        severity, by = (PROBLEM, None) if rule is None else (REMARK, "fault")
        yield Finding("error", severity, text, [answer.seq], by)


def failed_turns(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds turns that the agent ended with the stop reason ``error`` (draft-1.0)."""
    for turn in context.turns:
        if turn.stop_reason == "error" and turn.end_seq is not None:
            prompt = quoted_prompt(context, turn)
            rule = context.faults.injected.get(turn.end_seq)
            what = f"turn {turn.id} (prompt{prompt} #{turn.prompt_seq})"
            by_whom = "" if rule is None else f", which fault {rule} made up"
            text = f"{what} ended with stop reason error{by_whom} (#{turn.end_seq})"
            severity, by = (PROBLEM, "agent") if rule is None else (REMARK, "fault")
            yield Finding("error", severity, text, [turn.end_seq, turn.prompt_seq], by)


def invalid_lines(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds lines that are not messages of ACP."""
    for lines in context.invalid_lines:
        who = {"to-client": "on the agent's stdout", "to-agent": "from the client"}[lines.stream]
        if lines.count == 1:
            what = f"1 line {who} was not ACP: #{lines.seq}"
        else:
            what = f"{lines.count:,} lines {who} were not ACP, first #{lines.seq}"
        text = f'{what} "{lines.text[:80]}" ({lines.reason})'
        yield Finding("not-acp", PROBLEM, text, [lines.seq], SENDERS.get(lines.stream))


def _severity(context: DiagnosisContext, error: ErrorTally) -> str:
    if error.charged == "fault":
        return REMARK
    if error.why.startswith("with") or error.method == "session/prompt":
        return PROBLEM
    if error.direction == "to-client" or error.method not in _NEEDED:
        return REMARK
    # Only a login was missing, after which the same request succeeded.
    is_overcome = error.name == _LOGIN_NEEDED and has_succeeded_after(
        context.reader, error.method, error.seq
    )
    return REMARK if is_overcome else PROBLEM


def _sentence(error: ErrorTally) -> str:
    method, what = plain(error.method or "?")[:80], error_text(error)
    times = f", {error.count:,} times, first" if error.count > 1 else ""
    times = f"{times} (#{error.seq})"
    if error.charged == "fault":
        return f"fault {error.why} answered {method} with {what}{times}"
    if error.why:
        comma = "" if error.why.startswith("with") else ","
        return f"the {error.charged} sent {method}{comma} {error.why}: {what}{times}"
    if error.charged is not None:
        return f"the {error.charged} answered {method} with {what}{times}"
    return f"{method} was answered with {what}{times}"
