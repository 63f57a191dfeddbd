"""Finds requests without an answer, hangs, long silences, and what is waited for at present."""

from collections.abc import Collection, Iterator

from acp_proxy.inspection.diagnosis.context import DiagnosisContext, named_calls
from acp_proxy.inspection.diagnosis.messages import StoredMessage, request_text, requests_by_number
from acp_proxy.inspection.diagnosis.values import (
    PROBLEM,
    REMARK,
    CurrentWait,
    Finding,
    OpenRequest,
)
from acp_proxy.inspection.waits import OpenWait, Party, PendingRequest, Silence
from acp_proxy.recording import RecordedEvent
from acp_proxy.safe_text import plain
from acp_proxy.store.exchange_queries import TurnRow, first_cancel
from acp_proxy.wording import duration


def unanswered_prompts(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds prompts without an answer, but for those in which the agent or recorder died."""
    if context.live:
        return
    cut = {turn.id for turn in context.cut_turns}
    open_ = [turn for turn in context.turns if turn.end_seq is None and turn.id not in cut]
    seqs = [turn.prompt_seq for turn in open_]
    messages = requests_by_number(context.reader, seqs)
    withheld = context.faults.withheld(seqs)
    for turn in open_:
        end, seq = context.client_end, turn.prompt_seq
        what = request_text("session/prompt", seq, messages.get(seq))
        if not context.recording.has_all_answers:
            yield _not_imported(what, seq)
            continue
        never = "was never answered" if turn.outcome != "result" else "was accepted and never ended"
        asked = _request_to_client(context, turn) if context.prompt_after(turn) is None else None
        text = f"{what} {never}{_meanwhile(context, turn, end, asked)}"
        about = [seq] if end is None else [seq, end.seq]
        # The agent cannot answer before its own request is answered, so that one is the client's.
        by = "agent" if asked is None else "client"
        yield _unless_fault(text, withheld.get(seq) or context.holding_fault, about, by)


def unanswered_requests(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds what hangs if the recorder runs, and else the unanswered requests except prompts."""
    if context.live:
        yield from _hanging(context)
        return
    prompts = {turn.prompt_seq for turn in context.turns if turn.end_seq is None}
    requests = [request for request in context.unanswered if request.seq not in prompts]
    seqs = [request.seq for request in requests]
    messages = requests_by_number(context.reader, seqs)
    withheld = context.faults.withheld(seqs)
    for request in requests:
        seq = request.seq
        what = request_text(request.method, seq, messages.get(seq))
        if not context.recording.has_all_answers:
            yield _not_imported(what, seq)
            continue
        waited = duration(request.waited_ns, context.recording.step_ns)
        waited = f"{waited}, " if waited else ""
        text = f"{_who_waits(request)}: {what}, {waited}never answered"
        rule = withheld.get(seq) or context.holding_fault or context.faults.injected.get(seq)
        yield _unless_fault(text, rule, [seq], _answerer(request.direction))


def long_silences(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds hangs outside of tool calls that are not already reported as unanswered."""
    if context.counts is None or not context.recording.has_silences:
        return
    cut = {turn.prompt_seq for turn in context.cut_turns}
    for silence in context.counts.waits.silences.long:
        request = silence.request
        if silence.to_seq is None and request.seq not in cut:
            continue
        running: dict[int, str] = {}
        if silence.party is Party.AGENT:
            running = context.running_calls(request.turn, request.seq, silence.from_seq)
        if not running:
            lasted = " until the end" if silence.to_seq is None else ""
            seqs = [seq for seq in (silence.from_seq, silence.to_seq) if seq is not None]
            text = f"{silence_text(silence, context.recording.step_ns)}{lasted}"
            yield Finding("silence", REMARK, text, seqs, silence.party.value)


def find_waiting(context: DiagnosisContext) -> list[CurrentWait]:
    """Returns what a running conversation waits for, without the waits that are problems."""
    if context.of_kind("exit"):
        return []  # an answer can no longer come
    held = {wait.request.session for wait in context.waits if _is_of_agent(wait)}
    hangs = _hangs(context)
    waits = [
        wait
        for wait in context.waits
        if wait.request.seq not in hangs and not _is_held_up(wait, held)
    ]
    messages = requests_by_number(context.reader, (wait.request.seq for wait in waits))
    return [
        CurrentWait(
            wait.request.seq, wait.request.awaited.value, wait.request.session, wait.request.turn,
            wait.waited_ns, _waiting_text(context, wait, messages.get(wait.request.seq)),
        )
        for wait in waits
    ]  # fmt: skip


def silence_text(silence: Silence, step_ns: int = 0) -> str:
    """Returns who was silent, for how long, where, and what it had to answer.

    Args:
        silence: the silence.
        step_ns: the steps in which times are known; see `duration`.
    """
    length = duration(silence.length_ns, step_ns)
    request = silence.request
    turn = f" in turn {request.turn}" if request.turn is not None else ""
    until = f" to #{silence.to_seq}" if silence.to_seq is not None else ""
    what = f"{plain(request.method or '')} #{request.seq}"
    return (
        f"the {silence.party.value} sent nothing for {length}{turn},"
        f" from #{silence.from_seq}{until}, with {what} unanswered"
    )


def _not_imported(what: str, seq: int) -> Finding:
    """Returns a remark about a request whose answer may be missing in what was imported."""
    return Finding("unanswered", REMARK, f"{what} has no answer in what was imported", [seq])


def _unless_fault(text: str, rule: str | None, seqs: list[int], by: str) -> Finding:
    """Returns a problem, or a remark if a fault is the reason."""
    if rule is None:
        return Finding("unanswered", PROBLEM, text, seqs, by)
    return Finding("unanswered", REMARK, f"{text}, because of fault {rule}", seqs, "fault")


def _answerer(direction: str) -> str:
    return "client" if direction == "to-client" else "agent"


def _meanwhile(
    context: DiagnosisContext, turn: TurnRow, end: RecordedEvent | None, asked: str | None
) -> str:
    """Returns a phrase for what happened in place of an answer to a prompt.

    Args:
        context: the recording.
        turn: that of the prompt.
        end: how the client ended, if it did.
        asked: what the agent waited for.
    """
    later = context.prompt_after(turn)
    if later is not None:
        return f"; the client went on with session/prompt (#{later.prompt_seq})"
    wait = next((w for w in context.open_at_end if w.request.seq == turn.prompt_seq), None)
    if end is None:
        until = "until the end"
    else:
        how = end.data.get("name") if end.kind == "signal" else "closed its end"
        cancel = first_cancel(context.reader, turn.session, turn.prompt_seq)
        cancelled = f"cancelled, #{cancel}, and " if cancel is not None else ""
        until = f"until the client gave up ({cancelled}{how}, #{end.seq})"
    if asked is not None:
        return f"; the agent waited for its client to answer {asked} {until}"
    if end is None:
        return "" if wait is None else f", {_how_long(context, wait, until)}"
    if wait is None:
        return f"; {until}"
    return f"; {_how_long(context, wait, until)}"


def _request_to_client(context: DiagnosisContext, turn: TurnRow) -> str | None:
    """The first request of the agent in a turn that its client had not answered at the end."""
    for wait in context.open_at_end:
        request = wait.request
        if request.direction == "to-client" and request.turn == turn.id:
            seq = request.seq
            message = requests_by_number(context.reader, [seq]).get(seq)
            return request_text(request.method, seq, message)
    return None


def _how_long(context: DiagnosisContext, wait: OpenWait, until: str) -> str:
    """Returns a phrase for how long nothing came, or what was interrupted."""
    running = context.running_calls(wait.request.turn, wait.request.seq)
    if not context.recording.has_silences:
        return f"{named_calls(running)} in progress {until}" if running else until
    if running:
        return f"{named_calls(running)} in progress, {duration(wait.waited_ns)} {until}"
    if wait.silent_ns is None:  # another peer was waited for
        return f"{duration(wait.waited_ns)} {until}"
    since = f" since #{wait.last_seq}," if wait.is_streaming else ""
    return f"silent for {duration(wait.silent_ns)}{since} {until}"


def _hanging(context: DiagnosisContext) -> Iterator[Finding]:
    hangs = _hangs(context)
    messages = requests_by_number(context.reader, hangs)
    for seq, wait in hangs.items():
        what = request_text(wait.request.method, seq, messages.get(seq))
        text = f"{_who_waits(wait.request)}: {what}, {duration(wait.waited_ns)}{_silent(wait)}"
        by = _answerer(wait.request.direction)
        yield Finding("unanswered", PROBLEM, text, [seq], by)


def _hangs(context: DiagnosisContext) -> dict[int, OpenWait]:
    """Returns hangs by request number; an agent whose tool call runs does not hang."""
    return {
        wait.request.seq: wait
        for wait in context.waits
        if wait.is_hang
        and not (
            wait.request.awaited is Party.AGENT
            and context.running_calls(wait.request.turn, wait.request.seq, wait.last_seq)
        )
    }


def _who_waits(request: OpenRequest | PendingRequest) -> str:
    return (
        "agent waits for client" if request.direction == "to-client" else "client waits for agent"
    )


def _silent(wait: OpenWait) -> str:
    if not wait.is_streaming:
        return ", nothing came of it"
    return f", nothing came for {duration(wait.silent_ns)} (since #{wait.last_seq})"


def _is_of_agent(wait: OpenWait) -> bool:
    return wait.request.direction == "to-client"


def _is_held_up(wait: OpenWait, held: Collection[str | None]) -> bool:
    """Whether the agent itself waits in the session of a request that it has to answer."""
    return not _is_of_agent(wait) and (wait.request.session in held or None in held)


def _waiting_text(context: DiagnosisContext, wait: OpenWait, message: StoredMessage | None) -> str:
    request = wait.request
    if request.method == "session/prompt" and request.turn is not None:
        return _turn_text(context, wait)
    why = {Party.PERSON: ", a person decides", Party.PROGRAM: ", a program runs"}
    what = f"{request_text(request.method, request.seq, message)}, {duration(wait.waited_ns)}"
    return f"{_who_waits(wait.request)}: {what}{why.get(request.awaited, '')}"


def _turn_text(context: DiagnosisContext, wait: OpenWait) -> str:
    turn = wait.request.turn
    where = f"in turn {turn} (prompt #{wait.request.seq})"
    if wait.silent_ns is None:
        return f"{where}, {duration(wait.waited_ns)}"
    if not wait.is_streaming:
        return f"{where}, nothing came yet, {duration(wait.waited_ns)}"
    since = f"last update {duration(wait.silent_ns)} ago (#{wait.last_seq})"
    running = context.running_calls(turn, wait.request.seq, wait.last_seq)
    if running:
        return f"{where}, {named_calls(running)} in progress, {since}"
    return f"{where}, streaming, {since}"
