"""Finds requests without an answer, and hangs."""

from collections.abc import Iterator

from attrs import frozen

from acp_proxy.base.limits import LISTED
from acp_proxy.base.wording import duration, named_cancels, plain
from acp_proxy.explain.findings import AGENT, CLIENT, ENVIRONMENT, FAULT, Finding, Severity
from acp_proxy.explain.show.chosen_messages import request_text, requests_by_number
from acp_proxy.explain.show.current_waits import hangs, waiting_words
from acp_proxy.explain.show.diagnosis_context import NEVER, RECEIVERS, DiagnosisContext, named_calls
from acp_proxy.explain.show.environment import OUTSIDE, launcher, stderr_line
from acp_proxy.explain.show.summary_values import OpenRequest
from acp_proxy.explain.waits import Party, Silence
from acp_proxy.protocol.dialects import INITIALIZE, LOGIN
from acp_proxy.recording.recording import StoredFrame
from acp_proxy.store.queries.exchanges import TurnRow, first_cancel, release_after
from acp_proxy.store.queries.frames import frames_before

UNANSWERED = "wait.unanswered"
_PATIENCE_NS = 2 * 10**9
"""A client that leaves within this time after the agent's last message has not given up waiting."""
_LOGIN_NS = 15 * 60 * 10**9
"""The longest time that a person may need for a login."""
_AT_ONCE_NS, _LONG_LINE = 10**8, 1 << 16
"""A client that leaves at most `_AT_ONCE_NS` after a line of more than `_LONG_LINE` bytes may have
failed to read this line."""


@frozen
class _Judgement:
    """Who is to blame for an answer that never came."""

    by: str | None
    unblamed: str | None = None
    severity: Severity = Severity.ERROR
    said: str = ""
    """The words on stderr that name the cause; empty if there are none."""


def unanswered(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds hangs if the recorder still runs. Otherwise, finds requests without an answer.

    Requests that are open because the agent ended by itself are found by `agent_end`.
    """
    if context.reader.live:
        yield from _hanging(context)
        return
    cut = {*context.cut}
    turns = {
        turn.prompt_seq: turn
        for turn in context.turns
        if turn.end_seq is None or turn.prompt_seq < context.gave_up_at < turn.end_seq
    }
    requests = [request for request in context.unanswered if request.seq not in turns]
    if context.is_cut:
        requests = []
    seqs = sorted({*turns, *(request.seq for request in requests)} - cut)
    messages = requests_by_number(context.reader, seqs)
    withheld = context.faults.withheld(seqs)
    by_seq = {request.seq: request for request in requests}
    for seq in seqs:
        request, turn = by_seq.get(seq), turns.get(seq)
        method = "session/prompt" if request is None else request.method
        what = request_text(method, seq, messages.get(seq))
        if context.reader.is_open:
            text = f"{what} has no answer in the import"
            why = "the answer may be missing"
            yield Finding(UNANSWERED, Severity.INFO, None, seq, text, unblamed=why)
            continue
        rule = withheld.get(seq) or context.holding_fault
        finding = None
        if turn is not None:
            finding = _prompt(context, turn, what, rule)
        elif request is not None:
            rule = rule or context.faults.injected.get(seq)
            finding = _request(context, request, what, rule)
        if finding is not None:
            yield finding


def _prompt(
    context: DiagnosisContext, turn: TurnRow, what: str, rule: str | None
) -> Finding | None:
    """Returns the finding for a prompt without an answer.

    The result is None if the agent itself waited for an answer of the client.
    """
    text = f"the agent never answered {what}"
    if turn.end_seq is not None:
        text = f"the agent did not answer {what}"
    elif turn.outcome == "result":
        text = f"the agent accepted {what}, but never ended the turn"
    end = context.client_end
    related = () if end is None else (end.seq,)
    later = context.prompt_after(turn)
    if later is not None:
        judgement = _Judgement(AGENT)
        text += f"; the client went on with session/prompt (#{later.prompt_seq})"
    elif _asked_within(context, turn) is not None:
        return None  # the agent cannot answer before its own request is answered
    else:
        silent_ns = context.silent_ns(turn)
        running = context.running_calls(turn.id, turn.prompt_seq)
        how = _how_long(context, turn, silent_ns, running)
        text += f"{how} {_until(context, turn)}"
        is_stuck = running and context.is_stuck(turn)
        judgement = _blame(context, silent_ns, {} if is_stuck else running)
        if ignored := context.ignored_cancels(turn, context.waited_until_ns):
            text = f"{text}; the agent ignored {named_cancels(ignored)}"
            judgement, related = _Judgement(AGENT), (*ignored, *related)
        elif (line := _long_line(context, turn)) is not None:
            text = f"{text}, right after a line of {line.size:,} bytes (#{line.seq})"
            judgement, related = _Judgement(CLIENT, severity=Severity.WARNING), (line.seq, *related)
    return _finding(turn.prompt_seq, text, related, judgement, rule)


def _request(
    context: DiagnosisContext, request: OpenRequest, what: str, rule: str | None
) -> Finding:
    """Returns the finding for an unanswered request that is not a prompt."""
    waited = duration(request.waited_ns, context.recording.step_ns)
    waited = waited and f", which waited {waited}"
    text = f"the {RECEIVERS[request.direction]} never answered {what}{waited}"
    prompt = next((t for t in context.turns if t.end_seq is None and t.session == request.session
                   and t.prompt_seq < request.seq), None)  # fmt: skip
    related = () if prompt is None or request.direction == "to-agent" else (prompt.prompt_seq,)
    if related:
        text += f"; session/prompt (#{related[0]}) cannot end before"
    cancel = first_cancel(context.reader, request.session, request.seq)
    if request.awaited == Party.PERSON and cancel is None:
        asked = _Judgement(None, "a person was being asked", Severity.WARNING)
        waited_ns = request.waited_ns
        if request.direction == "to-client" and waited_ns is not None and waited_ns < _AT_ONCE_NS:
            text = f"{text}; the client left at once"  # no person could read the request so fast
            asked = _Judgement(CLIENT, severity=Severity.WARNING)
        elif request.method in LOGIN and (waited_ns or 0) >= _LOGIN_NS:
            asked = _Judgement(AGENT)
        return _finding(request.seq, text, related, asked, rule)
    if request.awaited == Party.PROGRAM:
        ran = _Judgement(None, "a program was running", Severity.INFO)
        release, end_ns = release_after(context.reader, request.seq), context.waited_until_ns or 0
        # If the client left soon after the release, the answer may have been on its way.
        if release is not None and end_ns - context.time_of(release) >= _PATIENCE_NS:
            text = f"{text}, although its terminal was released (#{release})"
            ran, related = _Judgement(CLIENT), (release, *related)
        return _finding(request.seq, text, related, ran, rule)
    if request.direction == "to-client":
        if cancel is not None and request.awaited == Party.PERSON:
            text += f", although the turn was cancelled (#{cancel})"
        return _finding(request.seq, text, related, _Judgement(CLIENT), rule)
    judgement = _blame(context, request.waited_ns, {})
    if request.method in INITIALIZE and context.first_of_agent is None:
        program = launcher(context)
        reason, line = stderr_line(context)
        if program is not None and (reason is not None or not line or line.startswith("npm ")):
            judgement = _Judgement(ENVIRONMENT, said=line)
            text = f"{text}; {program} never started the agent"
    return _finding(request.seq, text, related, judgement, rule)


def _blame(context: DiagnosisContext, silent_ns: int | None, running: dict[int, str]) -> _Judgement:
    """Returns who is to blame for a request that was open when the client left."""
    if silent_ns is not None and silent_ns < _PATIENCE_NS and context.gave_up_at == NEVER:
        if context.client_end is not None and context.client_end.kind == "signal":
            return _Judgement(CLIENT, None, Severity.INFO)
        return _Judgement(None, "the client left while the agent was at work", Severity.INFO)
    if running:
        return _Judgement(None, "a tool call was running")
    reason, line = stderr_line(context)
    if reason in OUTSIDE:
        return _Judgement(ENVIRONMENT, said=f"{reason}: {line}")
    return _Judgement(AGENT)


def _finding(
    seq: int, text: str, related: tuple[int, ...], judgement: _Judgement, rule: str | None
) -> Finding:
    if rule is not None:
        text = f"{text}, because of fault {rule}"
        return Finding(UNANSWERED, Severity.WARNING, FAULT, seq, text, related)
    said = f'; stderr says "{judgement.said}"' if judgement.said else ""
    by, severity = judgement.by, judgement.severity
    return Finding(UNANSWERED, severity, by, seq, f"{text}{said}", related, judgement.unblamed)


def silence_text(silence: Silence, step_ns: int = 0, end: str = "") -> str:
    """Returns a sentence: which peer was silent, for how long, and what was open.

    Args:
        silence: the silence that the sentence describes.
        step_ns: the resolution of times; see `duration`.
        end: the phrase for a silence that has not ended.
    """
    length = duration(silence.length_ns, step_ns)
    request = silence.request
    turn = f" in turn {request.turn}" if request.turn is not None else ""
    until = f" to #{silence.to_seq}" if silence.to_seq is not None else end
    what = f"{plain(request.method or '')} #{request.seq}"
    return (
        f"the {silence.party.value} sent nothing for {length}{turn},"
        f" from #{silence.from_seq}{until}, with {what} unanswered"
    )


def _long_line(context: DiagnosisContext, turn: TurnRow) -> StoredFrame | None:
    """Returns a long line that came right before the client left; None without a long line.

    Some clients fail at lines that are larger than their buffer.
    """
    end = context.client_end
    cancel = first_cancel(context.reader, turn.session, turn.prompt_seq)
    if end is None or cancel is not None or context.waited_until_ns is None:
        return None
    since_ns = end.t_ns - _AT_ONCE_NS
    lines = frames_before(context.reader, "to-client", end.seq, LISTED)
    return next((line for line in lines if line.t_ns >= since_ns and line.size > _LONG_LINE), None)


def _asked_within(context: DiagnosisContext, turn: TurnRow) -> OpenRequest | None:
    """Returns the agent's first unanswered request in a turn, or None."""
    asked = (request for request in context.unanswered if request.direction == "to-client")
    return next((a for a in asked if a.session == turn.session and a.seq > turn.prompt_seq), None)


def _until(context: DiagnosisContext, turn: TurnRow) -> str:
    """Returns the last words of a sentence about a silence: how the client gave up."""
    end = context.client_end
    if end is None:
        return "until the end"
    how = end.data.get("name") if end.kind == "signal" else "closed its end"
    cancel = first_cancel(context.reader, turn.session, turn.prompt_seq)
    if cancel is not None:
        later_ns, step_ns = end.t_ns - context.time_of(cancel), context.recording.step_ns
        is_timed = context.waited_until_ns is not None
        later = f"{duration(later_ns, step_ns)} later " if is_timed else ""
        how = f"cancel #{cancel}, {later}{how}"
    return f"until the client gave up ({how} #{end.seq})"


def _how_long(
    context: DiagnosisContext, turn: TurnRow, silent_ns: int | None, running: dict[int, str]
) -> str:
    """Returns a phrase: how long the agent sent nothing, and which tool calls ran."""
    length = duration(silent_ns, context.recording.step_ns)
    if running:
        what = f", with {named_calls(running)} in progress"
        return f"{what} and nothing sent for {length}," if length else f"{what},"
    last = context.last_of_agent(turn)
    since = f" after #{last.seq}," if last is not None else ""
    return f" and sent nothing for {length}{since}" if length else ""


def _hanging(context: DiagnosisContext) -> Iterator[Finding]:
    if context.of_kind("exit"):
        return  # an answer can no longer come
    hanging = hangs(context)
    messages = requests_by_number(context.reader, hanging)
    for seq, wait in hanging.items():
        what = request_text(wait.request.method, seq, messages.get(seq))
        who = RECEIVERS[wait.request.direction]
        # Without a duration, since pages show it long after; the brief words tell the duration.
        since = f" #{wait.last_seq}" if wait.is_streaming else ""
        text = f"the {who} has not answered {what} and has sent nothing since{since}"
        brief = waiting_words(context, wait, {}).at(context.end_ns)
        yield Finding(UNANSWERED, Severity.ERROR, who, seq, text, brief=brief)
