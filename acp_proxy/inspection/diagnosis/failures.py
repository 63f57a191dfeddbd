"""Requests that failed, a sentence for each kind: errors, refused logins, failed turns."""

from collections.abc import Iterator

from acp_proxy.inspection.describe.values import word
from acp_proxy.inspection.diagnosis.errors import error_text
from acp_proxy.inspection.diagnosis.evidence import Evidence, request_text, requests
from acp_proxy.inspection.diagnosis.facts import PROBLEM, REMARK, ErrorTally, Problem
from acp_proxy.inspection.diagnosis.lines import halves
from acp_proxy.protocol.dialects import INITIALIZE, OPENING
from acp_proxy.safe_text import plain

_OPENING = (*INITIALIZE, "authenticate", "auth/login", *OPENING)
"""Requests without whose success nothing goes on."""
_LOGIN_NEEDED = "authentication required"


def failed_requests(evidence: Evidence) -> Iterator[Problem]:
    """All errors that are not routine."""
    for error in evidence.errors:
        if not error.is_routine:
            yield Problem("error", _severity(evidence, error), _sentence(error), [error.seq])


def _severity(evidence: Evidence, error: ErrorTally) -> str:
    if error.charged == "fault":
        return REMARK
    if error.why.startswith("with") or error.method == "session/prompt":
        return PROBLEM
    if error.direction == "to-client" or error.method not in _OPENING:
        return REMARK
    return REMARK if _is_overcome(evidence, error) else PROBLEM


def _is_overcome(evidence: Evidence, error: ErrorTally) -> bool:
    """Whether only a login was missing, after which the same request succeeded."""
    if error.name != _LOGIN_NEEDED:
        return False
    sql = (
        "SELECT 1 AS n FROM exchanges WHERE method = ? AND direction = 'to-agent'"
        " AND outcome = 'result' AND request_seq > ? LIMIT 1"
    )
    return any(True for _ in evidence.reader.query(sql, (error.method, error.seq)))


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


def refused_logins(evidence: Evidence) -> Iterator[Problem]:
    """Answers to a login that are no error and say that it failed (draft-1.0)."""
    sql = (
        "SELECT id, request_seq, response_seq FROM exchanges WHERE method IN ('authenticate',"
        " 'auth/login') AND direction = 'to-agent' AND outcome = 'result' ORDER BY id LIMIT 100"
    )
    pairs = {
        (row["response_seq"], row["id"]): row["request_seq"] for row in evidence.reader.query(sql)
    }
    answers = halves(evidence.reader, pairs)
    refused = [key for key in answers if answers[key].part("result").get("success") is False]
    asked = requests(evidence, (pairs[key] for key in refused))
    for key in refused:
        line, seq = answers[key], pairs[key]
        what = request_text(line.method, seq, asked.get(seq))
        said = plain(word(line.part("result"), "error", "message"))[:100]
        rule = evidence.injected.made.get(line.seq)
        who = f"fault {rule}" if rule is not None else "the agent"
        text = f"{who} refused {what}: success is false{f', {said}' if said else ''} (#{line.seq})"
        yield Problem("error", PROBLEM if rule is None else REMARK, text, [line.seq])


def failed_turns(evidence: Evidence) -> Iterator[Problem]:
    """Turns that the agent ended with the stop reason ``error`` (draft-1.0)."""
    for turn in evidence.turns:
        if turn.stop_reason == "error" and turn.end_seq is not None:
            prompt = f' "{turn.prompt[:60]}"' if turn.prompt else ""
            rule = evidence.injected.made.get(turn.end_seq)
            what = f"turn {turn.id} (prompt{prompt} #{turn.prompt_seq})"
            by_whom = "" if rule is None else f", which fault {rule} made up"
            text = f"{what} ended with stop reason error{by_whom}"
            yield Problem(
                "error", PROBLEM if rule is None else REMARK, f"{text} (#{turn.end_seq})",
                [turn.end_seq, turn.prompt_seq],
            )  # fmt: skip
