"""Summarizes a recording: the peers, turns, open requests, findings, and the ending."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from attrs import evolve

from acp_proxy.base.limits import LISTED, LONG_LIST, SHOWN_LINE
from acp_proxy.base.wording import plain, seconds
from acp_proxy.explain.describe.event_texts import describe_event
from acp_proxy.explain.describe.token_texts import Tokens
from acp_proxy.explain.findings import Finding, counts_of, in_order
from acp_proxy.explain.message_pass import PAUSE_NS, Listener, MessagePass, Watch
from acp_proxy.explain.observed_faults import read_faults
from acp_proxy.explain.origins import known_value
from acp_proxy.explain.show.checks import run_checks
from acp_proxy.explain.show.chosen_messages import read_person_requests, read_tally
from acp_proxy.explain.show.conversation_summary import (
    read_capabilities,
    read_sessions,
    with_prompts,
)
from acp_proxy.explain.show.current_waits import find_waiting
from acp_proxy.explain.show.diagnosis_context import DiagnosisContext
from acp_proxy.explain.show.frame_pass import FrameCounts, read_work, silent_call
from acp_proxy.explain.show.result_words import ending_words, exit_words
from acp_proxy.explain.show.summary_values import CurrentWait, Extent, Summary
from acp_proxy.explain.show.unanswered import UNANSWERED
from acp_proxy.explain.stats.turn_times import spent_in
from acp_proxy.recording.recording import needs
from acp_proxy.store.queries.exchanges import error_count, open_exchange_count, open_turn_count
from acp_proxy.store.queries.frames import last_ns, last_stderr_lines
from acp_proxy.store.queries.recorded_events import events as read_events
from acp_proxy.store.reader import RecordingReader

STDERR_LINES = 5
CLIENT_CLOSED = "the client closed its end"
"""The reason that a recorder notes if the client closed its end of the connection."""
_SHOWN_EVENTS = ("signal", "fault", "gap", "undelivered", "note")


def summarize(
    reader: RecordingReader, now_ns: int | None = None, context: DiagnosisContext | None = None
) -> Summary:
    """Summarizes a recording, with findings about the conversation but not about broken rules.

    Args:
        reader: the recording.
        now_ns: the present time on the monotonic clock, for a live recording; None to examine it up
            to its last frame or event.
        context: the result of `counted`, if the recording was already read.
    """
    context = context or counted(reader, now_ns)
    recording, messages, counts = reader.recording, context.messages, context.counts
    assert messages is not None
    assert counts is not None
    findings = run_checks(context)
    asked = list(read_person_requests(reader, context.waited_until_ns))
    sessions = read_sessions(reader, context.turns, counts.parents)
    shown = [event for event in context.events if event.kind in _SHOWN_EVENTS]
    frames, kinds = Counter[str](), Counter[str]()
    for (stream, kind), count in sorted(counts.counts.items()):
        frames[stream] += count
        kinds[kind] += count
    kinds.pop("stderr", None)
    timed = messages.intervals.turns_until(context.end_ns)
    lines = last_stderr_lines(reader, STDERR_LINES, SHOWN_LINE) if frames["stderr"] else []
    summary = Summary(
        recording=recording,
        path=str(reader.path),
        live=reader.live,
        duration_ns=messages.end_ns,
        capabilities=read_capabilities(context.initialization),
        ending=_ending(context, counts),
        frames=dict(frames),
        kinds=dict(kinds),
        sessions=[session.id for session in sessions],
        opened=sessions,
        turns=with_prompts(
            [
                # Recorders of earlier versions counted ids instead of tool calls.
                turn._replace(tool_calls=counts.calls_of_turns.get(turn.id, turn.tool_calls))
                for turn in context.turns
            ],
            context.prompts,
            context.tokens.turns,
        ),
        updates=counts.updates,
        tool_calls=counts.calls.tallies(),
        first_calls=counts.calls.first(),
        failed_calls=counts.calls.failed(reader),
        questions=asked[:LISTED],
        answers=dict(Counter(request.answer or "open" for request in asked)),
        files_read=read_tally(reader, "fs/read_text_file"),
        files_written=read_tally(reader, "fs/write_text_file"),
        terminals=read_tally(reader, "terminal/create"),
        findings=findings,
        finding_counts=_counted(context, findings),
        severities=counts_of(findings),
        waiting=find_waiting(context),
        unanswered=context.unanswered,
        longest_silence=messages.intervals.silences.longest,
        errors=error_count(reader),
        error_codes=context.errors[:LISTED],
        not_acp=context.invalid_lines,
        faults=read_faults(reader),
        signals=[describe_event(e.kind, e.data) for e in shown if e.kind == "signal"][:LISTED],
        events=[describe_event(event.kind, event.data) for event in shown[:LONG_LIST]],
        stderr_tail=[plain(line.decode(errors="replace")) for line in lines],
        tokens=context.tokens.whole,
        work=read_work(reader, counts.calls.calls),
        spent=spent_in(timed),
        silent_call=silent_call(reader, messages.intervals.silences.longest, timed),
    )
    return known_value(recording, summary)


def with_rules(
    summary: Summary, findings: list[Finding], extent: Extent, most: int = LISTED
) -> Summary:
    """Returns a summary with findings about the conversation and about broken rules.

    Args:
        summary: the summary of the recording.
        findings: all findings, about the conversation and about broken rules.
        extent: how much was checked for broken rules.
        most: the largest number of findings of each rule that are listed.
    """
    mine = Counter(finding.rule for finding in summary.findings)
    every = Counter(finding.rule for finding in findings)
    counts = summary.finding_counts
    unlisted = {rule: n - mine[rule] for rule, n in counts.items() if n > mine[rule]}
    return evolve(
        summary,
        findings=_first_of_each_rule(in_order(findings), most),
        finding_counts=dict(every + Counter(unlisted)),
        severities=counts_of(findings),
        checked=extent,
    )


def find_quickly(
    reader: RecordingReader, now_ns: int | None = None
) -> tuple[list[Finding], list[CurrentWait], Tokens | None]:
    """Finds the problems of a conversation, the current waits and the tokens, from stored rows.

    Silences that have ended are not found. All frames are read only if the recorder still runs and
    a request or turn is open.

    Args:
        reader: the recording.
        now_ns: the present time on the monotonic clock, for a live recording; None to examine it up
            to its last frame or event.
    """
    if reader.live and (open_exchange_count(reader) or open_turn_count(reader)):
        context = counted(reader, now_ns)
    else:
        context = DiagnosisContext(reader, [*read_events(reader)], None, [], last_ns(reader))
    return run_checks(context), find_waiting(context), context.tokens.whole


def counted(
    reader: RecordingReader,
    now_ns: int | None = None,
    watch: Watch = iter,
    messages: MessagePass | None = None,
    listeners: Sequence[Listener] = (),
    single_upto: int = 0,
    pause_ns: int = PAUSE_NS,
) -> DiagnosisContext:
    """Returns the facts that checks of the conversation need, from one pass over its frames.

    A second pass is made only if the longest silence may be within a run of pieces.

    Args:
        reader: the recording.
        now_ns: the present time on the monotonic clock, for a live recording; None to examine it up
            to its last frame or event.
        watch: a function that yields all runs of frames unchanged, and may show the progress.
        messages: the pass that the listeners use; None for a new pass.
        listeners: listeners of the pass, besides the counter of frames.
        single_upto: frames up to this number are never joined into runs.
        pause_ns: the longest time between two pieces of a run, in nanoseconds.
    """
    messages = messages or MessagePass(reader)
    counts = FrameCounts(reader, messages)
    messages.play_to([*listeners, counts], pause_ns, watch, single_upto)
    for turn in chain.from_iterable(messages.connection.state.turns.values()):
        counts.calls_of_turns[turn.id] = turn.tool_calls
    context = finished(reader, messages, now_ns)
    context.counts = counts
    longest = messages.intervals.silences.longest
    is_known = longest is not None and longest.length_ns > pause_ns
    if counts.is_exact or is_known or not pause_ns:
        return context
    return counted(reader, now_ns, watch, pause_ns=0)


def finished(
    reader: RecordingReader,
    messages: MessagePass,
    now_ns: int | None = None,
    *,
    is_over: bool = True,
) -> DiagnosisContext:
    """Returns the facts that checks of the conversation need, after a pass over all frames.

    Args:
        reader: the recording.
        messages: the pass. It has read all frames so far.
        now_ns: the present time on the monotonic clock, for a live recording; None to examine it up
            to its last frame or event.
        is_over: whether the pass will read no further frames. If so, open silences end, too.
    """
    end_ns, intervals = messages.end_ns, messages.intervals
    origin = next((e.data.get("origin") for e in messages.events if e.kind == "start"), None)
    if reader.live and now_ns is not None and isinstance(origin, int):
        end_ns = max(end_ns, now_ns - origin)
    open_ = intervals.open(end_ns) if reader.live else []
    if is_over:
        intervals.end_silences(end_ns)
    return DiagnosisContext(reader, messages.events, messages, open_, end_ns)


@needs("ending", unknown="not known")
def _ending(context: DiagnosisContext, counts: FrameCounts) -> str:
    recording = context.recording
    if context.reader.live:
        return "still running"
    last_gap = next(reversed(context.of_kind("gap")), None)
    parts = [exit_words(recording)]
    if recording.state != "incomplete":
        exits = [describe_event(event.kind, event.data) for event in context.of_kind("exit")]
        return ending_words(recording, _end_reason(context)) or "".join(exits[-1:])
    if last_gap is not None and last_gap.seq > counts.last_seq:
        why = plain(str(last_gap.data.get("reason", "")))
        at = seconds(last_gap.t_ns)
        parts.append(f"incomplete: recording had stopped at {at} s ({why})")
    else:
        why = "the recorder was killed, or could no longer write"
        parts.append(f"incomplete: {why}; the frames written so far are here")
    return ", ".join(filter(None, parts))


def _end_reason(context: DiagnosisContext) -> str:
    """Returns why the agent ended. A client that left after the agent is never the reason."""
    reason = context.recording.end_reason or ""
    is_afterwards = context.first_end is not None and context.client_end is None
    return "by itself" if reason == CLIENT_CLOSED and is_afterwards else reason


def _first_of_each_rule(findings: list[Finding], most: int) -> list[Finding]:
    """Returns the first findings of each rule."""
    counts: Counter[str] = Counter()
    kept = []
    for finding in findings:
        counts[finding.rule] += 1
        if counts[finding.rule] <= most:
            kept.append(finding)
    return kept


def _counted(context: DiagnosisContext, findings: list[Finding]) -> dict[str, int]:
    """Returns the number of findings of each rule.

    Unanswered requests count even if they are not listed.
    """
    counts = Counter(finding.rule for finding in findings)
    if counts[UNANSWERED] and not context.reader.live:
        counts[UNANSWERED] += open_exchange_count(context.reader) - len(context.unanswered)
    return dict(counts)
