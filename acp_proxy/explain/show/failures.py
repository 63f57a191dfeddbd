"""Finds requests, logins and turns that failed."""

import re
from collections.abc import Iterable, Iterator

from acp_proxy.base.limits import LAST_NUMBER, LINE_EDGE, LISTED, PHRASE, SENTENCE
from acp_proxy.base.wording import plain, without_middle
from acp_proxy.explain.describe.error_texts import describe_error
from acp_proxy.explain.describe.phrases import part, word
from acp_proxy.explain.describe.session_texts import turn_error
from acp_proxy.explain.describe.token_texts import tokens_of
from acp_proxy.explain.findings import AGENT, ENVIRONMENT, FAULT, Finding, Severity
from acp_proxy.explain.show.chosen_messages import (
    StoredMessage,
    messages_of_exchanges,
    read_messages,
    request_text,
    requests_by_number,
)
from acp_proxy.explain.show.diagnosis_context import RECEIVERS, DiagnosisContext, named_turn
from acp_proxy.explain.show.environment import (
    OUTSIDE,
    PROVIDER,
    PROVIDERS_ERROR,
    outside_reason,
    stderr_line,
)
from acp_proxy.explain.show.error_groups import error_text
from acp_proxy.explain.show.summary_values import ErrorTally
from acp_proxy.protocol.dialects import (
    DRAFT,
    INITIALIZE,
    LOGIN,
    OPENING,
    PERMISSION,
    PROMPT,
    PROMPT_WITH_CONTENT,
    V2,
)
from acp_proxy.protocol.updates import kind_and_update
from acp_proxy.store.queries.exchanges import TurnRow, exchanges
from acp_proxy.store.queries.frames import stray_errors

ANSWER = "answer.error"
_INTERNAL = -32603
_NEEDED = (*INITIALIZE, *LOGIN, *OPENING)
"""Requests that must succeed before the conversation can continue."""
_LOGIN_NEEDED = "authentication required"
_UNSUPPORTED = re.compile(r"\b(?:not (?:yet )?|un)(?:supported|implemented)\b", re.IGNORECASE)
_ASKED_NS = 10**8
"""A turn that ends sooner cannot have asked a model."""
_OF_REQUEST = (-32700, -32600, -32601, -32602, -32002, -32800)
"""Codes of errors that blame the request, not the peer that answers."""
_LOGIN_WORD = re.compile(r"\b(?:un)?auth|log ?in|sign ?in|credential", re.IGNORECASE)
_ERROR_LINE = re.compile(r"error|exception|failed|panic|traceback", re.IGNORECASE)
"""A line of stderr that reports a failure."""


def failed_requests(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds requests that were answered with an error, if the error is unusual."""
    for error in context.errors:
        if error.is_routine:
            continue
        by, text, severity = error.charged, _sentence(error), _severity(context, error)
        if _is_offered(context, error):
            text, severity = f"{text}, although it announced support for it", Severity.ERROR
        if by == AGENT or (by is None and error.direction == "to-agent"):
            reason, line = _reason(context, error), ""
            if reason is None and (error.code == _INTERNAL or error.method in LOGIN):
                reason, line = stderr_line(context)
            if reason in OUTSIDE and not error.why:
                by = ENVIRONMENT
                said = f', stderr says "{line}"' if line else ""
                text = f"{text}: {reason}{said}"
            elif by is None and _is_agents_own(context, error):
                by = AGENT
        unblamed = "the error does not say whose fault it is" if by is None else None
        seq, related = error.seq, (error.request_seq,)
        if error.why and by != FAULT:  # the sender is to blame
            seq, related = error.request_seq, (error.seq,)
        times = f" ×{error.count:,}" if error.count > 1 else ""
        name, method = error.name or error.code, plain(error.method or "")[:PHRASE]
        brief = "" if name is None else f"{method.removeprefix('session/')}: {name}{times}"
        yield Finding(ANSWER, severity, by, seq, text, related, unblamed, brief=brief)


def errors_without_requests(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds errors whose requests are missing from an import."""
    by_text: dict[str, list[int]] = {}
    for answer in read_messages(context.reader, stray_errors(context.reader, LISTED), LINE_EDGE):
        by_text.setdefault(describe_error(answer.message.get("error")), []).append(answer.seq)
    for text, seqs in by_text.items():
        times = f", {len(seqs):,} times, first" if len(seqs) > 1 else ""
        what = "a request that is missing from the import was answered with error"
        text, why = f"{what} {plain(text)}{times} (#{seqs[0]})", "the request is not known"
        yield Finding(ANSWER, Severity.ERROR, None, seqs[0], text, (*seqs[1:],), why)


def refused_logins(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds logins that were answered with ``success: false`` (draft-1.0)."""
    rows = exchanges(
        context.reader, methods=LOGIN, direction="to-agent", outcome="result", most=LISTED
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
        by, severity = (FAULT, Severity.WARNING) if rule else (ENVIRONMENT, Severity.ERROR)
        yield Finding("fault.effect" if rule else ANSWER, severity, by, answer.seq, text, (seq,))


def failed_turns(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds turns that the agent ended with the stop reason ``error``; in v2 also with an error."""
    reasons = ("error", None) if context.recording.dialect == V2 else ("error",)
    failed = [turn for turn in context.turns if turn.stop_reason in reasons]
    ends = {end.seq: end for end in read_messages(context.reader, _ends(failed), LINE_EDGE)}
    for turn in failed:
        if turn.end_seq is not None:
            end = ends.get(turn.end_seq)
            update = {} if end is None else kind_and_update(end.part("params"))[1]
            why = turn_error(update)
            if turn.stop_reason is None and not why:
                continue
            rule = context.faults.injected.get(turn.end_seq)
            by_whom = "" if rule is None else f", which fault {rule} made up"
            reason = f"error: {without_middle(plain(why), SENTENCE)}" if why else "error"
            how = "with" if turn.stop_reason is None else "with stop reason"
            what = f"{named_turn(context, turn)} ended {how} {reason}"
            text = f"{what}{by_whom} (#{turn.end_seq})"
            by, severity = FAULT, Severity.WARNING
            if rule is None:
                is_outside = outside_reason(why) in OUTSIDE
                by, severity = ENVIRONMENT if is_outside else AGENT, Severity.ERROR
            yield Finding(ANSWER, severity, by, turn.end_seq, text, (turn.prompt_seq,))


def _ends(turns: Iterable[TurnRow]) -> list[int]:
    return [turn.end_seq for turn in turns if turn.end_seq is not None]


def prompts_of_the_draft(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds a prompt of the 1.0 draft in an excerpt of a log, if nothing else shows the dialect."""
    if context.recording.dialect_reason == PROMPT_WITH_CONTENT:
        seq = context.turns[0].prompt_seq if context.turns else None
        where = "" if seq is None else f" (#{seq})"
        lacks = "and lacks prompt, which v1 requires"
        text = f"session/prompt{where} has content, as in {DRAFT}, {lacks}"
        why = "an excerpt does not show its dialect"
        yield Finding("recording.dialect", Severity.INFO, None, seq or 0, text, unblamed=why)


def empty_turns(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds turns that ended normally although the agent sent nothing in them.

    The finding is a warning if there is a sign of a failure: an error in the metadata of the
    answer, no output tokens, or an error on stderr. Otherwise, its severity is info.
    """
    empty = {turn.id: turn for turn in context.turns
             if turn.stop_reason == "end_turn" and not turn.updates}  # fmt: skip
    for end in read_messages(context.reader, _ends(empty.values()), LINE_EDGE):
        # A request may be in the same batch as the end.
        turn = empty.get(end.turn or 0) if end.kind != "request" else None
        prompt = "" if turn is None else context.prompts.get(turn.id, "")
        if turn is None or (prompt.startswith("/") and context.recording.origin is None):
            continue  # a command may end without any output
        sign, by = _sign_of_failure(context, turn, end), AGENT
        if (inner := _inner_error(end)) and outside_reason(inner) in OUTSIDE:
            by = ENVIRONMENT
        sign = f'; its metadata says "{inner}"' if inner else sign
        if not sign and not _is_remarkable(context, turn):
            continue
        severity = Severity.WARNING if sign else Severity.INFO
        what = f"{named_turn(context, turn)} ended with end_turn, without any update"
        text = f"{what}{sign} (#{end.seq})"
        yield Finding("answer.empty-turn", severity, by, end.seq, text, (turn.prompt_seq,))


def _is_remarkable(context: DiagnosisContext, turn: TurnRow) -> bool:
    """Whether an empty turn without a sign of a failure is reported.

    An empty turn of an imported recording is always reported. Any other turn is not reported if it
    was too short for the answer of a model, or if the agent sent a request in it.
    """
    if context.recording.origin is not None:
        return True
    is_late = (turn.duration_ns or 0) >= _ASKED_NS
    return is_late and not context.asks_within((turn.prompt_seq, turn.end_seq or LAST_NUMBER))


def _inner_error(end: StoredMessage) -> str:
    """Returns the error in the metadata of an answer; empty without an error."""
    meta = part(end.part("result"), "_meta")
    said = {name: value for name, value in meta.items() if isinstance(value, str | dict) and value}
    errors = [value for name, value in said.items() if _ERROR_LINE.search(name)]
    errors += [value for value in said.values() if outside_reason(str(value)) in OUTSIDE]
    return without_middle(plain(str(errors[0])), SENTENCE) if errors else ""


def _sign_of_failure(context: DiagnosisContext, turn: TurnRow, end: StoredMessage) -> str:
    """Returns a phrase with a sign that an empty turn failed, such as an error on stderr."""
    prompt, output = context.prompts.get(turn.id, ""), tokens_of(end.part("result")).output
    if not prompt or prompt.startswith("/") or output:
        return ""
    _, line = stderr_line(context, (turn.prompt_seq, end.seq))
    said = f'; stderr says "{line}"' if _ERROR_LINE.search(line) else ""
    return said or (" or output token" if output == 0 else "")


def _is_offered(context: DiagnosisContext, error: ErrorTally) -> bool:
    """Whether a peer announced a method, but answered that it is unsupported."""
    if error.charged in (None, FAULT) or error.why or not _UNSUPPORTED.search(error.message):
        return False
    return context.rules.offers(error.direction, error.method, {})


def _is_agents_own(context: DiagnosisContext, error: ErrorTally) -> bool:
    """Whether an error reports a failure of the agent, not a problem with the request.

    Agents use any code for their own failures, even the code that asks for a login.
    """
    if context.recording.dialect == DRAFT or error.method not in (*INITIALIZE, OPENING[0], PROMPT):
        return False
    is_login = error.code == -32000 and _LOGIN_WORD.search(error.message)
    return error.code not in _OF_REQUEST and not is_login


def _reason(context: DiagnosisContext, error: ErrorTally) -> str | None:
    """Returns the failure outside the agent, such as a full disk, that an error names, or None."""
    answers = read_messages(context.reader, [error.seq], LINE_EDGE)
    is_providers = any(PROVIDERS_ERROR.search(str(a.message.get("error"))) for a in answers)
    said = outside_reason(f"{error.code} {error.message}")
    return said or (PROVIDER if is_providers else None)


def _severity(context: DiagnosisContext, error: ErrorTally) -> Severity:
    if error.charged == FAULT:
        return Severity.WARNING
    is_refused_question = (error.direction, error.method) == ("to-client", PERMISSION)
    if error.why.startswith("with") or error.method == PROMPT or is_refused_question:
        return Severity.ERROR
    least = Severity.WARNING if error.code == _INTERNAL and not error.why else Severity.INFO
    if error.direction == "to-client" or error.method not in _NEEDED:
        return least
    # An error is overcome if the same request succeeds after a login, or if a new session is opened
    # because an old session or its directory no longer exists. A login must not fail or hang.
    span, again = (error.seq + 1, LAST_NUMBER), None
    if error.name == _LOGIN_NEEDED:
        if any(
            row.outcome != "result" for row in exchanges(context.reader, methods=LOGIN, span=span)
        ):
            return least
        again = error.method
    if error.method in OPENING:
        again = OPENING[0]
    if again is None:
        return Severity.ERROR
    later = exchanges(context.reader, methods=[again], outcome="result", span=span)
    is_overcome = any(row.direction == "to-agent" for row in later)
    return least if is_overcome else Severity.ERROR


def _sentence(error: ErrorTally) -> str:
    method, what = plain(error.method or "?")[:80], error_text(error)
    times = f", {error.count:,} times, first" if error.count > 1 else ""
    times = f"{times} (#{error.seq})"
    if error.charged == FAULT:
        return f"fault {error.why} answered {method} with {what}{times}"
    if error.why:
        comma = "" if error.why.startswith("with") else ","
        return f"the {error.charged} sent {method}{comma} {error.why}: {what}{times}"
    who = error.charged or RECEIVERS[error.direction]
    return f"the {who} answered {method} with {what}{times}"
