"""Prints an audit as text: findings first, then a table for each kind of action."""

import shlex
from collections.abc import Sequence

from acp_proxy.base.limits import SHORT_LIST
from acp_proxy.base.wording import counted
from acp_proxy.cli.explain import audit_rows as rows
from acp_proxy.cli.screens.output import stdout_screen
from acp_proxy.cli.screens.recording_page import LABEL, RecordingPage, shortened, started_at
from acp_proxy.cli.screens.styled_text import Ink, Piece, piece
from acp_proxy.cli.screens.table import Cell, Column, cell, table
from acp_proxy.explain.audit.audit_values import PROBLEM, Action, ActionStatus, Audit, Source
from acp_proxy.explain.findings import Severity
from acp_proxy.recording.recording import Recording, clock, needs

_MOST = 10
"""The largest number of sessions and of MCP servers that are shown."""
_INKS = {
    ActionStatus.FAILED: Ink.STDERR,
    ActionStatus.REFUSED: Ink.STDERR,
    ActionStatus.CANCELLED: Ink.STDERR,
    ActionStatus.UNANSWERED: Ink.TROUBLE,
    ActionStatus.UNKNOWN: Ink.STDERR,
}


def show_audit(audit: Audit, word: str, *, most: int | None) -> None:
    """Prints an audit.

    Args:
        audit: the audit of the recording.
        word: the recording as the user named it.
        most: the largest number of rows in each table; None for the default.
    """
    page = RecordingPage(stdout_screen())
    count = sum(finding.severity == PROBLEM for finding in audit.findings)
    remarks = counted(len(audit.findings), "remark")
    verdict = piece(remarks if audit.findings else "nothing to look at")
    if count:
        verdict = piece(f"✗ {counted(count, 'problem')}", Ink.TROUBLE, bold=True)
    page.headline(audit.recording, verdict, live=audit.live)
    _about(page, audit)
    _findings(page, audit)
    if most is None and page.screen.columns is not None:
        most = SHORT_LIST
    for group, actions in rows.groups(audit.actions):
        page.print()
        page.print(piece(group.title, bold=True), piece(f"  {len(actions):,}", Ink.FAINT))
        page.lines(table(_columns(audit, group, rows.first(actions, most)), page.screen))
        if most is not None and len(actions) > most:
            page.print(piece(f"  … and {len(actions) - most:,} more, see --top", Ink.FAINT))
    if audit.actions:
        page.print()
        page.wrap(piece(""), piece(rows.CLAIMED_NOTE, Ink.FAINT))
        page.wrap(piece(""), piece(rows.PATHS_NOTE, Ink.FAINT))
    if page.screen.columns is not None:
        _next(page, audit, word)
    page.flush()


def _about(page: RecordingPage, audit: Audit) -> None:
    recording = audit.recording
    who = (recording.agent_title, shlex.join(audit.agent_command))
    page.row("agent", ": ".join(filter(None, who)))
    page.row("started in", recording.cwd)
    page.origin(recording)
    if began := started_at(recording):
        zone = "of that zone" if recording.has_zone else "those of the log"
        page.row("started at", f"{began}; the times below are {zone}")
    many = len(audit.sessions) > 1
    places = [
        f"{shortened(session.id)}  {place}" if many else place
        for session, place in zip(audit.sessions, map(rows.session, audit.sessions), strict=True)
    ]
    _listed(page, "works in", places)
    _listed(page, "MCP servers", rows.servers(audit.sessions))
    page.row("actions", rows.totals(audit))
    if audit.actions:
        page.row("permission", rows.answers(audit))
    if audit.left_out:
        page.row("left out", f"{audit.left_out:,} later actions, which are not listed")


def _findings(page: RecordingPage, audit: Audit) -> None:
    if audit.findings:
        page.print()
        page.print(piece("to look at", bold=True))
    for finding in audit.findings:
        severity = Severity.ERROR if finding.severity == PROBLEM else Severity.WARNING
        page.finding(severity, finding.text)


def _columns(audit: Audit, group: rows.Group, actions: Sequence[Action]) -> list[Column]:
    recording = audit.recording
    seqs = {action.id: action.seq for action in audit.actions}
    many = len({action.session for action in audit.actions}) > 1
    sessions = [cell(shortened(action.session or "") if many else "") for action in actions]
    times = [cell(_time(recording, action), Ink.FAINT) for action in actions]
    marked = [rows.what(action) for action in actions]
    warnings = max((len(mark.word) for marks in marked for mark in marks), default=0)
    whats = [*map(_marked, marked)]
    places = [_marked([rows.directory(action)]) for action in actions]
    remarks = [cell(rows.remarks(action, seqs), Ink.FAINT) for action in actions]
    return [
        Column("at", times, rank=3),
        Column("seq", [cell(f"#{action.seq}", Ink.FAINT) for action in actions], right=True),
        Column("turn", [cell(str(action.turn or "")) for action in actions], right=True, rank=6),
        Column("session", sessions, rank=7),
        Column("how", [cell(rows.how(action, group)) for action in actions], rank=1),
        Column("what", whats, least=22 + warnings, most=60, keeps_ends=group.has_paths),
        Column("in", places, rank=2, least=8, keeps_ends=True),
        Column("status", [cell(rows.status(a, recording), _INKS.get(a.status)) for a in actions]),
        Column("known", [_source(action) for action in actions]),
        Column("permission", [_permission(a, recording) for a in actions], least=16),
        Column("remarks", remarks, rank=5, least=10),
    ]


def _marked(marks: Sequence[rows.Mark]) -> Cell:
    pieces: list[Piece] = []
    for mark in marks:
        if pieces:
            pieces.append(piece(", "))
        if mark.word:
            ink = Ink.STDERR if mark.word == "UNKNOWN PLACE" else Ink.TROUBLE
            pieces.append(piece(f"{mark.word} ", ink, bold=True))
        pieces.append(piece(mark.text))
    return pieces or cell("")


def _source(action: Action) -> Cell:
    return cell(action.source.value, None if action.source is Source.CLIENT else Ink.STDERR)


def _permission(action: Action, recording: Recording) -> Cell:
    text = rows.permission(action, recording)
    if action.permissions:
        granted = action.permissions[-1].decision == "granted"
        return cell(text, Ink.PERMISSION if granted else Ink.STDERR)
    return cell(text, Ink.FAINT if action.kind in rows.QUIET else Ink.STDERR)


@needs("date", unknown="")
def _time(recording: Recording, action: Action) -> str:
    return f"{clock(action.at, has_zone=recording.has_zone):%H:%M:%S}"


def _listed(page: RecordingPage, label: str, texts: Sequence[str]) -> None:
    for number, text in enumerate(texts[:_MOST]):
        page.row("" if number else label, text)
    if (more := len(texts) - _MOST) > 0:
        page.print(piece(f"{'':{LABEL}}… and {more:,} more", Ink.FAINT))


def _next(page: RecordingPage, audit: Audit, word: str) -> None:
    seqs = [seq for finding in audit.findings for seq in finding.seqs]
    seqs += [action.seq for action in audit.actions]
    name = shlex.quote(word)
    more = f" --around {seqs[0]}" if seqs else ""
    page.next(f"acp-proxy log {name}{more}")
