"""Checks a whole conversation for failures that no single message shows.

This module has the table of all checks. It also checks lost bytes and messages, long silences,
hanging tool calls, ignored cancels, clients that send nothing more, and numbers of tokens. A wait
for a person or a program is never an error.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator

from acp_proxy.base.limits import CHUNK, LAST_NUMBER, LINE_EDGE, LISTED
from acp_proxy.base.wording import duration, named_cancels, numbered, plain, seconds
from acp_proxy.explain.findings import (
    AGENT,
    CLIENT,
    ENVIRONMENT,
    FAULT,
    Finding,
    Severity,
    in_order,
)
from acp_proxy.explain.observed_faults import ENDING, read_rules
from acp_proxy.explain.origins import took
from acp_proxy.explain.show.agent_end import agent_end, empty_recording
from acp_proxy.explain.show.chosen_messages import request_text, requests_by_number
from acp_proxy.explain.show.diagnosis_context import (
    READERS,
    RECEIVERS,
    DiagnosisContext,
    named_calls,
    named_turn,
)
from acp_proxy.explain.show.environment import launcher, stderr_line
from acp_proxy.explain.show.failures import (
    empty_turns,
    errors_without_requests,
    failed_requests,
    failed_turns,
    prompts_of_the_draft,
    refused_logins,
)
from acp_proxy.explain.show.unanswered import silence_text, unanswered
from acp_proxy.explain.waits import Party
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.recording.recording import Fact, RecordedEvent, needs
from acp_proxy.store.queries.exchanges import TurnRow, exchanges, first_cancel
from acp_proxy.store.queries.fired_faults import undelivered_frames
from acp_proxy.store.queries.frames import first_message, frames_before, updates_with

Check = Callable[[DiagnosisContext], Iterable[Finding]]
_MINUTE_NS = 60 * 10**9
_GIVEN_UP_NS = 2 * _MINUTE_NS
"""A person who cancels after a silence of at least this length has given up on the agent."""
_LATE_NS = 30 * 10**9
"""A turn that goes on for this time after a cancel has ignored the cancel."""
_EFFECT = "fault.effect"
_LOST = {"unrecorded": "nothing was recorded", "damaged": "the log was damaged"}


def stalls(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds peers that stopped reading, and when they began to read again."""
    notes = context.of_kind("note")
    for note in notes:
        stream = note.data.get("stream")
        if note.data.get("action") != "stalled" or stream not in READERS:
            continue
        later = (n for n in notes if n.seq > note.seq and n.data.get("stream") == stream)
        resumed = next((n for n in later if n.data.get("action") == "resumed"), None)
        begun = _since(context, note)
        frame = _first_unread(context, stream, note.seq, begun)
        unread = note.data.get("bytes")
        waited = f": {unread:,} bytes waited" if isinstance(unread, int) else ""
        until_ns = context.end_ns if resumed is None else resumed.t_ns
        lasted = took(context.recording, until_ns - begun)
        never = "it has not read since" if context.reader.live else "it never read again"
        end = lasted and f"; {never}, {lasted}"
        if resumed is not None:
            end = f"; it read again{lasted and f' after {lasted}'}"
        where = f" (from frame #{frame})" if frame is not None else ""
        at = _said(context, "at", begun)
        text = f"{READERS[stream]} stopped reading{at}{where}{waited}{end}"
        seq, by = note.seq if frame is None else frame, RECEIVERS.get(stream)
        whose = None if by is not None else "nobody reads the agent's stderr"
        yield Finding("pipe.not-reading", Severity.ERROR, by, seq, text, unblamed=whose)


@needs("times", unknown="")
def _said(_context: DiagnosisContext, word: str, t_ns: int) -> str:
    """Returns a word and a time, such as `` at 2.500 s``; empty if the recording has no times."""
    return f" {word} {seconds(t_ns)} s"


def _since(context: DiagnosisContext, note: RecordedEvent) -> int:
    """Returns when acp-proxy read the first bytes that the peer did not read."""
    start = next(iter(context.of_kind("start")), None)
    origin, since = (start.data.get("origin") if start else None), note.data.get("since")
    if isinstance(origin, int) and isinstance(since, int) and 0 <= since - origin <= note.t_ns:
        return since - origin
    return note.t_ns


def _first_unread(context: DiagnosisContext, stream: str, before: int, since: int) -> int | None:
    """Returns the number of the first frame that the peer did not read whole, or None."""
    first = None
    for frame in frames_before(context.reader, stream, before, CHUNK):
        if frame.t_ns < since:
            break
        first = frame.seq
    return first


def fault_effects(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds messages that faults withheld or changed. Neither peer is to blame for them."""
    lost = context.faults.lost_answers()
    lines = requests_by_number(context.reader, (answer.request_seq for answer in lost))
    for answer in lost:
        seq = answer.request_seq
        what = request_text(answer.method, seq, lines.get(seq))
        text = f"fault {answer.rule} withheld #{answer.response_seq}, the answer to {what}"
        if answer.is_broken:
            text = f"fault {answer.rule} broke #{answer.response_seq}, the answer to {what}"
        brief = f"fault {answer.rule} #{answer.response_seq}"
        yield Finding(_EFFECT, Severity.WARNING, FAULT, answer.response_seq, text, (seq,),
                      brief=brief)  # fmt: skip
    reported = {answer.rule for answer in lost} | _reported_with_effects(context)
    for rule in read_rules(context.reader) if context.faults.any_fired else []:
        if rule.effects and plain(rule.name) not in reported:
            seq = min(rule.seqs, default=0)
            what, more = "; ".join(rule.effects), tuple(n for n in rule.seqs if n != seq)
            text = f"fault {plain(rule.name)} {what}"
            brief = f"fault {plain(rule.name)}" + (f" #{seq}" if seq else "")
            yield Finding(_EFFECT, Severity.WARNING, FAULT, seq, text, more, brief=brief)


def _reported_with_effects(context: DiagnosisContext) -> set[str | None]:
    """Returns the fault rules that the findings of other checks name as a cause."""
    exit_ = next(iter(context.of_kind("exit")), None)
    ended = None if exit_ is None else context.faults.first_rule(ENDING, exit_.seq)
    errors = {error.why for error in context.errors if error.charged == FAULT}
    withheld = context.faults.withheld(request.seq for request in context.unanswered)
    return {ended, context.holding_fault, *errors, *withheld.values()}


def gaps(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds bytes that passed while no recorder ran, or while the recorder could not write."""
    for note in context.of_kind("note"):
        if what := _LOST.get(str(note.data.get("action"))):
            why = plain(str(note.data.get("reason", "")))
            yield _gap(f"{what}: {why} (#{note.seq})", note.seq)
    for gap in context.of_kind("gap"):
        lost = [f"{n:,} bytes {s}" for s in READERS if isinstance(n := gap.data.get(s), int)]
        why = plain(str(gap.data.get("reason", "")))
        what = f"{', '.join(lost) or 'bytes'} passed unrecorded"
        text = f"{what}{_said(context, 'until', gap.t_ns)}: {why} (#{gap.seq})"
        yield _gap(text, gap.seq)


def _gap(text: str, seq: int) -> Finding:
    why = "the recorder could not write"
    return Finding("recording.gap", Severity.ERROR, None, seq, text, unblamed=why)


def undelivered(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds bytes that could not be delivered because their receiver had already left."""
    by_stream: dict[str, list[RecordedEvent]] = {}
    for event in context.of_kind("undelivered"):
        stream = event.data.get("stream")
        if stream in READERS:
            by_stream.setdefault(stream, []).append(event)
    for stream, events in by_stream.items():
        count = sum(n for e in events if isinstance(n := e.data.get("bytes"), int))
        near = events[-1].seq - CHUNK, events[-1].seq + 1000
        frames = undelivered_frames(context.reader, stream, near, LISTED)
        what = f" ({numbered(frames)})" if frames else ""
        text = f"{READERS[stream]} was gone: {count:,} bytes could not be delivered to it{what}"
        seqs = tuple(frames) or (events[0].seq,)
        why = "the receiver had left"
        yield Finding("pipe.undelivered", Severity.INFO, None, seqs[0], text, seqs[1:], why)


def long_silences(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds long silences that no other check reports.

    A silence of the agent is left out if a tool call was running when the silence began.
    """
    if context.messages is None:
        return
    cut = {turn.prompt_seq for turn in context.cut_turns}
    known = {finding.seq for finding in given_up(context)}
    first = context.first_of_agent
    for silence in context.messages.intervals.silences.long:
        request = silence.request
        if (silence.to_seq is None and request.seq not in cut) or silence.from_seq in known:
            continue
        is_agents = silence.party is Party.AGENT
        if is_agents and context.running_calls(request.turn, request.seq, silence.from_seq):
            continue
        lasted = " until the end" if silence.to_seq is None else ""
        seq, more = silence.from_seq, tuple(filter(None, (silence.to_seq,)))
        text = f"{silence_text(silence, context.recording.step_ns)}{lasted}"
        program = launcher(context) if first is not None and silence.to_seq == first.seq else None
        if program is not None:
            length = duration(silence.length_ns, context.recording.step_ns)
            text = f"{program} took {length} before the agent's first message (#{silence.to_seq})"
            yield Finding("agent.slow-start", Severity.WARNING, ENVIRONMENT, seq, text, more)
        else:
            yield Finding("wait.silence", Severity.INFO, silence.party.value, seq, text, more)


def late_cancels(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds turns that continued for a long time after a cancel.

    A turn is left out if the client sent another frame in the turn's last 30 seconds.
    """
    for turn in context.turns:
        if turn.end_seq is None or (turn.duration_ns or 0) < _LATE_NS:
            continue
        end_ns = context.time_of(turn.end_seq)
        ignored = context.ignored_cancels(turn, end_ns, _LATE_NS)
        sent = frames_before(context.reader, "to-agent", turn.end_seq, LISTED) if ignored else ()
        is_held = any(frame.seq not in ignored and end_ns - frame.t_ns < _LATE_NS for frame in sent)
        if ignored and not is_held:
            length = duration(end_ns - context.time_of(ignored[0]))
            text = f"the agent ignored {named_cancels(ignored)}: turn {turn.id} ended only {length}"
            yield Finding("wait.cancel-ignored", Severity.WARNING, AGENT, ignored[0],
                          f"{text} later (#{turn.end_seq})",
                          (*ignored[1:], turn.end_seq, turn.prompt_seq))  # fmt: skip


def given_up(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds turns that a client cancelled after a long silence of the agent or of a tool call."""
    for turn in context.turns:
        if turn.end_seq is None or turn.stop_reason != "cancelled":
            continue
        cancel = first_cancel(context.reader, turn.session, turn.prompt_seq)
        if cancel is None or cancel > turn.end_seq:
            continue
        last = context.last_of_agent(turn, cancel)
        silent_ns = 0 if last is None else context.time_of(cancel) - last.t_ns
        running = context.running_calls(turn.id, turn.prompt_seq, cancel)
        if last is not None and silent_ns >= _MINUTE_NS and running:
            _, line = stderr_line(context)
            said = f'; stderr says "{line}"' if line else ""
            text = (
                f"{named_calls(running)} ran for {duration(silent_ns)} in silence, until the client"
                f" cancelled the turn (#{cancel}){said}"
            )
            is_stuck = context.is_stuck(turn, cancel)
            by, why = (AGENT, None) if is_stuck else (None, "a tool call was running")
            text += "; its permission had been answered" if is_stuck else ""
            yield Finding("wait.call-hung", Severity.WARNING, by, max(running), text,
                          (cancel, turn.prompt_seq), why)  # fmt: skip
        elif not running and (last is None or silent_ns >= _GIVEN_UP_NS):
            yield from _silent_agent(context, turn, cancel)


def _silent_agent(context: DiagnosisContext, turn: TurnRow, cancel: int) -> Iterator[Finding]:
    """Finds a long silence before a cancel, if only the agent had to act during the silence."""
    mine = (turn.session, None)
    frames = [frame for way in ("to-agent", "to-client")
              for frame in frames_before(context.reader, way, cancel, LISTED)
              if frame.session in mine]  # fmt: skip
    last, cancel_ns = max(frames, default=None), context.time_of(cancel)
    if last is None or cancel_ns - last.t_ns < _GIVEN_UP_NS:
        return
    asked = (row for row in exchanges(context.reader, direction="to-client") if row.session in mine)
    if any(row.request_seq < cancel < (row.response_seq or LAST_NUMBER) for row in asked):
        return
    text = (
        f"the agent sent nothing for {duration(cancel_ns - last.t_ns)} in turn {turn.id},"
        f" from #{last.seq} until the client cancelled it (#{cancel})"
    )
    seqs = (cancel, turn.end_seq or cancel, turn.prompt_seq)
    yield Finding("wait.silence", Severity.WARNING, AGENT, last.seq, text, seqs)


def silent_client(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds a client that sent nothing for a minute after its initialization or ``session/new``.

    The minute begins with the answer to the last of these requests.
    """
    opened = context.first_opened
    if opened is None or opened.response_seq is None:
        return
    end_ns = context.first_end.t_ns if context.first_end is not None else context.end_ns
    waited_ns = end_ns - context.time_of(opened.response_seq)
    later = first_message(context.reader, "to-agent", opened.response_seq)
    if later is not None or waited_ns < _MINUTE_NS or context.turns:
        return
    is_new = opened.method not in INITIALIZE
    what = "session/prompt" if is_new else "session/new"
    until = "so far" if context.reader.live else "until the end"
    text = (
        f"the client sent nothing for {duration(waited_ns)} after the answer to {opened.method}"
        f" (#{opened.response_seq}), {until}: no {what}"
    )
    severity = Severity.INFO if is_new else Severity.WARNING
    yield Finding("wait.client-silent", severity, CLIENT, opened.response_seq, text)


def full_contexts(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds usage updates that report more tokens in the context than fit into it."""
    for seq, tokens in context.tokens.beyond.items():
        text = f"the agent reported {tokens.used:,} used of {tokens.window:,} tokens (#{seq})"
        yield Finding("answer.usage-beyond-size", Severity.WARNING, AGENT, seq, text)


def running_totals(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds sessions in which each turn's reported usage includes the earlier turns."""
    ends = {turn.id: turn.end_seq or 0 for turn in context.turns}
    for ids in context.tokens.totals.values():
        every = [context.tokens.turns[turn] for turn in ids]
        counts = [(t.total if t.input is None else t.input) or 0 for t in every]
        if len(set(counts)) > 1:
            shown, seq = ", ".join(f"{count:,}" for count in counts[:3]), ends[ids[-1]]
            what = f"the usage in the answers to {len(ids)} prompts never falls"
            why = "so it is of the session so far, not of the turn"
            text = f"{what} ({shown} … {counts[-1]:,} tokens), {why} (#{seq})"
            related = tuple(ends[turn] for turn in ids[:-1])
            yield Finding("answer.usage-total", Severity.INFO, AGENT, seq, text, related)


def uncounted_turns(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds turns that have text but report 0 tokens, except turns whose prompt is a command."""
    for turn in context.turns:
        tokens, prompt = context.tokens.turns.get(turn.id), context.prompts.get(turn.id, "")
        if tokens is None or turn.stop_reason != "end_turn" or prompt.startswith("/"):
            continue
        if (tokens.input, tokens.output, tokens.total or 0) != (0, 0, 0):
            continue
        span = turn.prompt_seq, turn.end_seq or LAST_NUMBER
        if any(updates_with(context.reader, b'"agent_message', [span], LINE_EDGE)):
            what = f"{named_turn(context, turn)} has text, but a usage of 0 tokens"
            text = f"{what} (#{turn.end_seq})"
            yield Finding("answer.usage-zero", Severity.INFO, AGENT, span[1], text, span[:1])


CHECKS: dict[Check, tuple[Fact, ...]] = {
    unanswered: (),
    agent_end: ("ending",),
    empty_recording: (),
    stalls: (),
    long_silences: ("middle", "durations"),
    given_up: ("middle", "durations"),
    late_cancels: ("middle", "durations"),
    silent_client: ("start", "middle", "ending", "durations"),
    gaps: (),
    undelivered: (),
    fault_effects: (),
    prompts_of_the_draft: ("start",),
    failed_requests: (),
    errors_without_requests: ("start", "middle"),
    refused_logins: (),
    failed_turns: (),
    empty_turns: ("middle",),
    full_contexts: (),
    running_totals: ("middle",),
    uncounted_turns: (),
}
"""All checks, each with the facts that a recording must have (for `_WITHOUT`: must lack)."""
_WITHOUT = (prompts_of_the_draft, errors_without_requests)
"""These checks run only if an import lacks at least one of their facts in `CHECKS`."""


def run_checks(context: DiagnosisContext) -> list[Finding]:
    """Runs all checks that suit the facts in the recording. Returns the findings, worst first."""
    made = (check(context) for check, facts in CHECKS.items()
            if context.recording.knows(*facts) != (check in _WITHOUT))  # fmt: skip
    return in_order(itertools.chain.from_iterable(made))
