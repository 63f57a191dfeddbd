"""Prints the summary of a recording as text."""

import shlex
from collections.abc import Sequence
from functools import partial

from acp_proxy.base.limits import EXAMPLES, NAMED
from acp_proxy.base.wording import counted, duration, in_one_line, listed
from acp_proxy.cli.screens.output import stdout_screen
from acp_proxy.cli.screens.recording_page import (
    MARKS,
    SHORT_ID,
    RecordingPage,
    shortened,
    started_at,
    verdict,
)
from acp_proxy.cli.screens.styled_text import Ink, Piece, columns_of, piece, text_of
from acp_proxy.cli.screens.table import aligned
from acp_proxy.explain.describe.tool_texts import call_label
from acp_proxy.explain.findings import CONVERSATION, Finding, Severity, alike, by_rule
from acp_proxy.explain.observed_faults import times_fired
from acp_proxy.explain.show.agent_end import ENDED
from acp_proxy.explain.show.current_waits import waiting_for
from acp_proxy.explain.show.error_groups import error_text
from acp_proxy.explain.show.facts_line import facts_line
from acp_proxy.explain.show.result_words import result_words
from acp_proxy.explain.show.summary_values import (
    PersonRequest,
    SessionSummary,
    Summary,
    Tally,
    TurnSummary,
    turn_state,
)
from acp_proxy.explain.show.unanswered import silence_text
from acp_proxy.explain.waits import LEAST_NS
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.updates import FAILED, RUNNING
from acp_proxy.recording.notes import note_in_words

_MOST_CAPABILITIES, _MOST_TOOL_KINDS = 14, 12
_COUNTED = ("request", "response", "error", "notification")
"""The names of kinds of frames that get an "s" in the plural."""
_SPARE_OF_TURN = (4, 5, 3)
"""The indexes of the cells that a narrow terminal leaves out of a turn's row: updates, tool calls
and time."""
_TONES = {"good": Ink.TO_CLIENT, "trouble": Ink.TROUBLE}
_OPENED = {"new": "new", "load": "loaded", "resume": "resumed", "fork": "forked"}


def show_summary(
    summary: Summary, word: str, page: RecordingPage | None = None, *, is_brief: bool = False
) -> None:
    """Prints a summary: the problems, then the course of the conversation, then the origin.

    Args:
        summary: the summary of the recording.
        word: the recording as the user named it.
        page: the page to print on; None for stdout, where a terminal also gets commands to try.
        is_brief: whether to leave out everything that `_details` prints.
    """
    has_hint = page is None
    page = page or RecordingPage(stdout_screen())
    page.headline(summary.recording, *summary_verdict(summary), live=summary.live)
    grave = [finding for finding in summary.findings if finding.severity is not Severity.INFO]
    has_crashed = any(finding.rule == ENDED for finding in grave)
    first = grave or [note for note in summary.findings[:1] if note.group in CONVERSATION]
    _findings(page, summary, first, word)
    if has_crashed:
        _stderr(page, summary)
    _waiting(page, summary)
    page.print()
    _facts(page, summary)
    if not is_brief:
        _details(page, summary, word, first, has_crashed=has_crashed)
    if is_brief or (has_hint and page.screen.columns is not None):
        _next(page, summary, word)
    page.flush()


def _details(
    page: RecordingPage, summary: Summary, word: str, first: list[Finding], *, has_crashed: bool
) -> None:
    """Prints the course of the conversation, then the findings not in `first`, then the origin."""
    _course(page, summary)
    if notes := [finding for finding in summary.findings if finding not in first]:
        page.print()
        page.print(piece("notes", bold=True))
        _findings(page, summary, notes, word)
    if not summary.checked.is_whole:
        text = f"rules were checked up to #{summary.checked.last_seq:,}: {_check(word)}"
        page.wrap(piece("  "), piece(f"{text} checks all frames", Ink.FAINT))
    if not has_crashed:
        _stderr(page, summary)
    page.print()
    _peers(page, summary)
    _traffic(page, summary)
    _about(page, summary)


def summary_verdict(summary: Summary) -> list[Piece]:
    """Returns the verdict: who is waited for, how many findings there are, what was checked."""
    origin, checked = summary.recording.origin, summary.checked
    where = " in the imported messages" if origin is not None and origin.lost else ""
    if summary.recording.state == "incomplete" and not summary.live:
        where = " in the recorded part"
    counts = summary.severities
    pieces = verdict(counts, f"no problems{where}")
    if counts.get("info") and not counts.get("error") and not counts.get("warning"):
        pieces.insert(0, piece(f"no problems{where}, ", Ink.TO_CLIENT))
    if not checked.is_whole:
        pieces.append(piece(f", rules checked in the first {counted(checked.frames, 'frame')}"))
    first, waits = next(iter(summary.findings), None), waiting_for(summary.waiting)
    if first is not None and first.severity is not Severity.INFO:
        words = result_words(summary.findings, summary.recording)
        pieces.insert(0, piece(f"{words} · ", MARKS[first.severity][1], bold=True))
    elif summary.live:
        waits = result_words([], summary.recording, waits, live=True)
    if waits:
        pieces.insert(0, piece(f"{waits}, ", Ink.TO_AGENT, bold=True))
    return pieces


def _facts(page: RecordingPage, summary: Summary) -> None:
    """Prints facts, such as the number of turns, in one line; breaks a long line between facts."""
    line: list[Piece] = []
    for fact in facts_line(summary):
        shown = piece(fact.text, _TONES.get(fact.tone))
        taken = columns_of(text_of([*line, shown])) + len(" · ")
        if line and page.screen.columns is not None and taken > page.screen.columns:
            page.print(*line)
            line = []
        line += [piece(" · ", Ink.FAINT)] if line else []
        line.append(shown)
    if line:
        page.print(*line)


def _about(page: RecordingPage, summary: Summary) -> None:
    """Prints where the recording comes from: its file, and how the recorder was started."""
    recording = summary.recording
    page.row("file", summary.path)
    page.row("command", " ".join(recording.words))
    page.row("directory", recording.cwd)
    page.origin(recording)
    took = duration(summary.duration_ns, recording.step_ns)
    took = f"last frame after {took}" if summary.live else took
    began = started_at(recording)
    page.row("started" if began else "took", ", ".join(filter(None, (began, took))))
    if recording.dialect:
        version = f", protocol {recording.protocol_version}" if recording.protocol_version else ""
        why = f" ({recording.dialect_reason})" if recording.dialect_reason else ""
        page.row("dialect", f"{recording.dialect}{version}{why}")


def _peers(page: RecordingPage, summary: Summary) -> None:
    """Prints a row for each peer: its name and its capabilities."""
    recording, can = summary.recording, summary.capabilities
    client, agent = recording.client_title, recording.agent_title
    page.row("client", piece(client or recording.unnamed, Ink.TO_AGENT), _abilities(can.client))
    page.row(
        "agent",
        piece(agent or recording.unnamed, Ink.TO_CLIENT),
        _abilities(can.agent),
        _abilities(can.required, "needs "),
        _abilities(can.auth_methods, "login by "),
    )


def _abilities(names: list[str], lead: str = "can ") -> str:
    return f" · {lead}{listed(names, _MOST_CAPABILITIES)}" if names else ""


def _traffic(page: RecordingPage, summary: Summary) -> None:
    """Prints the number of frames in each stream, and the sessions."""
    groups = [
        ", ".join(f"{n:,} {name}{'s' * (n > 1 and name in _COUNTED)}" for name, n in counts.items())
        for counts in (summary.frames, summary.kinds)
    ]
    groups += [counted(summary.updates, "update")] if summary.updates else []
    total = sum(summary.frames.values())
    page.row("frames", f"{total:,}: {' · '.join(groups)}" if groups else "none")
    _sessions(page, summary.opened)


def _course(page: RecordingPage, summary: Summary) -> None:
    """Prints the turns, tool calls, questions, files, terminals, and how the conversation ended."""
    if summary.faults:
        seed = "" if summary.recording.seed is None else f" (seed {summary.recording.seed})"
        page.row("faults", times_fired(summary.faults) + seed)
    page.row("note", note_in_words(summary.recording.note))
    _turns(page, summary)
    _tool_calls(page, summary)
    _questions(page, summary)
    tally = partial(_tally, unanswered="open" if summary.is_open else "not answered")
    files = [tally(summary.files_read, "read"), tally(summary.files_written, "written")]
    page.row("files", ", ".join(filter(None, files)))
    page.row("terminals", tally(summary.terminals, "created"))
    silence = summary.longest_silence
    if silence is not None and silence.length_ns >= LEAST_NS:
        end = " until now" if summary.live else " to the end of the recording"
        text = silence_text(silence, summary.recording.step_ns, end)
        page.row("silence", f"at the longest {text}")
    _errors(page, summary)
    page.row("ended", summary.known_ending or "")
    page.row("signals", listed(summary.signals, EXAMPLES))


def _sessions(page: RecordingPage, sessions: list[SessionSummary]) -> None:
    rows = []
    for session in sessions[:EXAMPLES]:
        how = [_OPENED.get(way, way) for way in session.opened]
        how += [f"not {_OPENED.get(way, way)}" for way in session.failed]
        ink = Ink.TROUBLE if not session.opened and how else None
        how += [f"{way} open" for way in session.open]
        how += [] if session.parent is None else [f"child of {session.parent}"]
        is_opened = bool(session.opened or session.failed or session.open)
        turns = counted(session.turns, "turn") if session.turns or is_opened else ""
        rows.append(
            [piece(session.id), piece(", ".join(how), ink), piece(turns), piece(session.cwd or "")]
        )
    if sessions:
        page.row("sessions", f"{len(sessions):,}")
    page.examples(rows, len(sessions), is_cut=False)


def _turns(page: RecordingPage, summary: Summary) -> None:
    turns = summary.turns
    if not turns:
        return
    page.row("turns", f"{len(turns):,}")
    most_id = None if page.screen.columns is None else SHORT_ID
    rows = [_turn(turn, summary, most_id) for turn in turns]
    if len(rows) > 2 * EXAMPLES + 2:
        more = f"and {len(rows) - 2 * EXAMPLES:,} more"
        rows[EXAMPLES:-EXAMPLES] = [[piece("..."), piece(more)]]
    page.lines(aligned(rows, page.screen, is_cut=True, spare=_SPARE_OF_TURN))


def _turn(turn: TurnSummary, summary: Summary, most_id: int | None) -> list[Piece]:
    """Returns the cells of a turn's row.

    If there are several sessions, one cell has the session's id, cut to ``most_id`` characters.
    """
    reason = turn_state(turn, summary.unended)
    inks = {"end_turn": None, "ended": None, "open": None, "cancelled": Ink.STDERR}
    cells = [
        piece(f"{turn.id}.", Ink.FAINT),
        piece(f"#{turn.prompt_seq}" + (f"–{turn.end_seq}" if turn.end_seq else ""), Ink.FAINT),
        piece(reason, inks.get(reason, Ink.TROUBLE)),
        piece(duration(turn.duration_ns, summary.recording.step_ns)),
        piece(counted(turn.updates, "update")),
        piece(counted(turn.tool_calls, "tool call")),
    ]
    if len(summary.opened) > 1:
        cells.append(piece(shortened(turn.session or "", most_id)))
    return [*cells, piece(in_one_line(turn.prompt))]


def _tool_calls(page: RecordingPage, summary: Summary) -> None:
    count = sum(tally.count for tally in summary.tool_calls)
    if not count:
        return
    pieces = [piece(f"{count:,}:")]
    for tally in summary.tool_calls[:_MOST_TOOL_KINDS]:
        pieces.append(piece(f" {tally.count:,} {tally.kind} ("))
        for n, (status, number) in enumerate(summary.statuses_of(tally).items()):
            ink = Ink.TROUBLE if status in ("failed", "never ended") else None
            pieces += [piece(", " if n else ""), piece(f"{number:,} {status}", ink)]
        pieces.append(piece("),"))
    pieces[-1] = piece(")")
    if (more := len(summary.tool_calls) - _MOST_TOOL_KINDS) > 0:
        pieces.append(piece(f", ... and {more} more kinds"))
    page.row("tool calls", *pieces)
    unended = piece(summary.unended, None if summary.is_open else Ink.TROUBLE)
    rows = [
        _call(failed.seq, piece(status, Ink.TROUBLE if status in FAILED else None),
              call_label(failed.title, failed.tool_call), failed.text)
        for failed in summary.failed_calls for status in [summary.status_of(failed)]
    ]  # fmt: skip
    rows += [
        _call(call.seq, unended if call.status in RUNNING else piece(call.status),
              call_label(call.title, call.tool_call))
        for call in summary.first_calls
        if call.status not in FAILED
    ]  # fmt: skip
    page.examples(rows[:EXAMPLES], count)


def _call(seq: int, status: Piece, *words: str) -> list[Piece]:
    return [piece(f"#{seq}", Ink.FAINT), status, piece(": ".join(filter(None, words)))]


def _questions(page: RecordingPage, summary: Summary) -> None:
    answers = summary.answers
    if not answers:
        return
    count = sum(answers.values())
    words = {} if summary.is_open else {"open": "without an answer"}
    outcomes = ", ".join(f"{n:,} {words.get(a, a)}" for a, n in answers.items())
    are_permissions = all(question.method == PERMISSION for question in summary.questions)
    page.row("permissions" if are_permissions else "questions", f"{count:,}: {outcomes}")
    rows = [_question(question, summary) for question in summary.questions[:EXAMPLES]]
    page.examples(rows, count)


def _question(question: PersonRequest, summary: Summary) -> list[Piece]:
    what = "permission" if question.method == PERMISSION else "form"
    unanswered = piece("open") if summary.is_open else piece("not answered", Ink.TROUBLE)
    answer = unanswered if question.answer is None else piece(question.answer)
    waited = duration(question.waited_ns, summary.recording.step_ns)
    return [
        piece(f"#{question.seq}", Ink.FAINT),
        piece(what, Ink.PERMISSION),
        answer,
        piece(f"after {waited}" if waited else ""),
        piece(call_label(question.title, question.tool_call)),
    ]


def _errors(page: RecordingPage, summary: Summary) -> None:
    """Prints the error answers that are routine. They are not among the findings."""
    texts = []
    for error in summary.error_codes:
        if error.is_routine:
            times = f"{error.count:,} times, first " if error.count > 1 else ""
            texts.append(f"{error.method} {error_text(error)} ({times}#{error.seq})")
    page.row("errors", listed(texts, EXAMPLES))


def _findings(
    page: RecordingPage, summary: Summary, findings: Sequence[Finding], word: str
) -> None:
    for group in by_rule(findings):
        rule, is_conversation = group[0].rule, group[0].group in CONVERSATION
        known = sum(finding.rule == rule for finding in summary.findings)
        shown = alike(group)[: EXAMPLES if is_conversation else NAMED]
        for same in shown:
            page.finding(same[0].severity, sentence_of(same), f"  [{rule} {same[0].whose}]")
        if more := len(group) + summary.finding_counts[rule] - known - sum(map(len, shown)):
            text = f"... and {more:,} more of this kind: {_check(word)}"
            page.wrap(piece("    "), piece(text, Ink.FAINT))


def _check(word: str) -> str:
    return f"acp-proxy check {shlex.quote(word)}"


def _waiting(page: RecordingPage, summary: Summary) -> None:
    """Prints who is waited for in a running conversation."""
    for waiting in summary.waiting[:EXAMPLES]:
        page.wrap(piece("  … "), piece(waiting.text))
    page.more(len(summary.waiting) - EXAMPLES)


def sentence_of(same: Sequence[Finding]) -> str:
    """Returns one sentence about similar findings: their frames, and the text of the first finding.

    The method comes before the text, except if the text begins with the method.
    """
    text, method = same[0].text, same[0].method or ""
    if same[0].group in CONVERSATION:
        return text
    text = f"{'' if text.startswith(method) else f' {method}'}: {text}"
    numbers = [f"#{finding.seq}" for finding in same]
    if any(finding.text != same[0].text for finding in same):
        return f"{numbers[0]}{text}, likewise at {listed(numbers[1:], EXAMPLES)}"
    return f"{listed(numbers, EXAMPLES)}{text}"


def _stderr(page: RecordingPage, summary: Summary) -> None:
    if not summary.stderr_tail:
        return
    tail, lines = summary.stderr_tail, counted(summary.frames["stderr"], "line")
    is_whole = len(tail) == summary.frames["stderr"]
    part = f"  ({lines})" if is_whole else f"  (the last {len(tail)} of {lines})"
    page.print()
    page.print(piece("stderr", bold=True), piece(part))
    for line in tail:
        page.wrap(piece("  "), piece(line, Ink.STDERR), indent=4)


def _next(page: RecordingPage, summary: Summary, word: str) -> None:
    command = f"acp-proxy log {shlex.quote(word)}"
    first = next(iter(summary.findings), None)
    if first is not None and first.severity is not Severity.INFO:
        command = f"{command} --around {first.seq}"
    elif summary.live:
        command = f"{command} --follow"
    page.next(command)


def _tally(tally: Tally, what: str, unanswered: str) -> str:
    if tally == Tally():
        return ""
    parts = [f"{tally.failed:,} failed" if tally.failed else "",
             f"{tally.open:,} {unanswered}" if tally.open else ""]  # fmt: skip
    remark = ", ".join(filter(None, parts))
    return f"{tally.answered:,} {what}" + (f" ({remark})" if remark else "")
