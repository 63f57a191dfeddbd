"""The first screen: who talked, how it went, what is open, what is wrong, how it ended."""

from collections import Counter

from acp_proxy.inspection.diagnosis.course import Course, CourseReader, Happened, Watch, read_events
from acp_proxy.inspection.diagnosis.debts import find_waiting
from acp_proxy.inspection.diagnosis.details import (
    MOST,
    first_prompt,
    read_capabilities,
    read_sessions,
    read_tally,
)
from acp_proxy.inspection.diagnosis.evidence import Evidence
from acp_proxy.inspection.diagnosis.facts import (
    OpenRequest,
    Problem,
    SessionSummary,
    Summary,
    TurnSummary,
)
from acp_proxy.inspection.diagnosis.problems import find_problems, has_problem
from acp_proxy.inspection.diagnosis.questions import read_questions
from acp_proxy.inspection.diagnosis.tool_calls import read_tool_calls
from acp_proxy.inspection.fired import read_faults
from acp_proxy.inspection.timeline import describe_event, seconds
from acp_proxy.recording import Recording
from acp_proxy.safe_text import plain
from acp_proxy.store.reader import RecordingReader

__all__ = [
    "OpenRequest", "Problem", "SessionSummary", "Summary", "TurnSummary", "first_prompt",
    "summarize",
]  # fmt: skip

STDERR_LINES = 5
_TOLD = ("signal", "fault", "gap", "undelivered", "note")
_MOST_EVENTS = 1000


def summarize(reader: RecordingReader, now_ns: int | None = None, watch: Watch = iter) -> Summary:
    """Reads a recording's summary: one pass over its frames, and the lines of a few of them.

    Args:
        reader: the recording.
        now_ns: the monotonic clock now; a running recording is told until then, or else until
            the last thing that happened. An ended one has nothing to do with it.
        watch: is given all frames to pass them on, by whoever shows how far we are.
    """
    recording, events = reader.recording, read_events(reader)
    course = CourseReader(reader, events, watch).read()
    end = _end(course, events, now_ns if reader.live else None)
    open_ = course.waits.open(end) if reader.live else []
    if course.open_at_end is None:
        course.open_at_end = course.waits.open(end)
    course.waits.finish(end)
    evidence = Evidence(reader, events, course, open_, end)
    turns, errors, unanswered = evidence.turns, evidence.errors, evidence.unanswered
    problems, questions = find_problems(evidence), list(read_questions(reader, end))
    sessions = read_sessions(reader, turns)
    tool_calls, failed_calls = read_tool_calls(reader, course.calls)
    counts = Counter(problem.kind for problem in problems)
    if counts["unanswered"] and not reader.live:
        counts["unanswered"] += _count_unanswered(reader) - len(unanswered)
    return Summary(
        recording=recording,
        path=str(reader.path),
        live=reader.live,
        duration_ns=course.end_ns,
        capabilities=read_capabilities(evidence.halves),
        ending=_ending(recording, events, course, live=reader.live),
        frames=_by_stream(course),
        kinds=_by_kind(course),
        sessions=[session.id for session in sessions],
        opened=sessions,
        turns=turns,
        updates=course.updates,
        tool_calls=tool_calls,
        failed_calls=failed_calls,
        questions=questions[:MOST],
        answers=dict(Counter(question.answer or "open" for question in questions)),
        files_read=read_tally(reader, "fs/read_text_file"),
        files_written=read_tally(reader, "fs/write_text_file"),
        terminals=read_tally(reader, "terminal/create"),
        problems=_some(problems),
        problem_counts=dict(counts),
        waiting=find_waiting(evidence),
        unanswered=unanswered,
        longest_silence=course.waits.longest,
        errors=_count_errors(reader),
        error_codes=errors[:MOST],
        not_acp=evidence.not_acp,
        faults=read_faults(reader),
        signals=[describe_event(e.kind, e.data) for e in events if e.kind == "signal"][:MOST],
        events=[describe_event(e.kind, e.data) for e in events if e.kind in _TOLD][:_MOST_EVENTS],
        stderr_tail=_stderr_tail(reader),
    )


def is_troubled(reader: RecordingReader, now_ns: int | None = None) -> bool:
    """Whether `summarize` would find a problem, told without a pass over the frames.

    Only of a running conversation in which something is open all frames are read, since nothing
    but time tells whether it hangs.

    Args:
        reader: the recording.
        now_ns: as for `summarize`.
    """
    events = read_events(reader)
    if reader.live and _count_unanswered(reader) + _count_open_turns(reader):
        course = CourseReader(reader, events).read()
        end = _end(course, events, now_ns)
        return has_problem(Evidence(reader, events, course, course.waits.open(end), end))
    return has_problem(Evidence(reader, events, None, [], 0))


def _count_open_turns(reader: RecordingReader) -> int:
    sql = "SELECT count(*) AS n FROM turns WHERE end_seq IS NULL"
    return int(next(reader.query(sql))["n"])


def _end(course: Course, events: list[Happened], now_ns: int | None) -> int:
    """The last thing that happened, or now; both on the recording's clock."""
    origin = next((e.data.get("origin") for e in events if e.kind == "start"), None)
    if now_ns is None or not isinstance(origin, int):
        return course.end_ns
    return max(course.end_ns, now_ns - origin)


def _by_stream(course: Course) -> dict[str, int]:
    frames: dict[str, int] = {}
    for (stream, _), count in sorted(course.counts.items()):
        frames[stream] = frames.get(stream, 0) + count
    return frames


def _by_kind(course: Course) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for (_, kind), count in sorted(course.counts.items()):
        if kind != "stderr":
            kinds[kind] = kinds.get(kind, 0) + count
    return kinds


def _ending(recording: Recording, events: list[Happened], course: Course, *, live: bool) -> str:
    """How it ended, in words."""
    if live:
        return "still running"
    parts = []
    if recording.exit_signal is not None:
        parts.append(f"sig {recording.exit_signal}")
    elif recording.exit_code is not None:
        parts.append(f"exit {recording.exit_code}")
    if recording.state != "incomplete":
        parts.append(recording.end_reason or "")
    elif (gap := _last_gap(events)) is not None and gap.seq > course.last_seq:
        why = plain(str(gap.data.get("reason", "")))
        parts.append(f"incomplete: recording had stopped at {seconds(gap.t_ns)} s ({why})")
    else:
        why = "the recorder was killed, or could not write any more"
        parts.append(f"incomplete: {why}; what it had written is here")
    return ", ".join(filter(None, parts))


def _last_gap(events: list[Happened]) -> Happened | None:
    return next((event for event in reversed(events) if event.kind == "gap"), None)


def _some(problems: list[Problem]) -> list[Problem]:
    """At most a hundred of each kind."""
    seen: Counter[str] = Counter()
    kept = []
    for problem in problems:
        seen[problem.kind] += 1
        if seen[problem.kind] <= MOST:
            kept.append(problem)
    return kept


def _count_errors(reader: RecordingReader) -> int:
    sql = "SELECT count(*) AS n FROM exchanges WHERE outcome = 'error'"
    return int(next(reader.query(sql))["n"])


def _count_unanswered(reader: RecordingReader) -> int:
    sql = "SELECT count(*) AS n FROM exchanges WHERE response_seq IS NULL"
    return int(next(reader.query(sql))["n"])


def _stderr_tail(reader: RecordingReader) -> list[str]:
    start = "CASE WHEN length(raw) > 2000 THEN substr(raw, 1, 2000) ELSE raw END"  # '' is no NULL
    tail = reader.query(
        f"SELECT {start} AS raw FROM frames WHERE kind = 'stderr'"
        f" ORDER BY seq DESC LIMIT {STDERR_LINES}"
    )
    return [plain(bytes(row["raw"]).decode(errors="replace")) for row in tail][::-1]
