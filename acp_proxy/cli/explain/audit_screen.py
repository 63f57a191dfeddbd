"""Prints an audit as text: findings first, then a table for each kind of action."""

import shlex
from collections.abc import Iterable, Mapping, Sequence

from acp_proxy.base.limits import EXAMPLES, SHORT_LIST
from acp_proxy.base.wording import counted
from acp_proxy.cli.screens.output import stdout_screen
from acp_proxy.cli.screens.recording_page import LABEL, RecordingPage, shortened, started_at
from acp_proxy.cli.screens.styled_text import Ink, Piece, piece
from acp_proxy.cli.screens.table import Cell, Column, cell, table
from acp_proxy.explain.audit.audit_values import (
    ASKED_FOR,
    PROBLEM,
    Action,
    ActionKind,
    ActionStatus,
    Audit,
    AuditedPath,
    AuditedSession,
    PathPlace,
    Source,
)
from acp_proxy.explain.describe.tool_texts import call_label
from acp_proxy.explain.findings import Severity
from acp_proxy.explain.origins import took
from acp_proxy.recording.recording import Recording, clock, needs

_NOTES = (
    "client: the agent asked its client to act, and the client's answer shows the outcome."
    " claimed: only the agent reports the action; the recording does not prove it.",
    "Paths are compared as text: symbolic links are not followed, and the effect of a command on"
    " the paths that it names is not known.",
)
_GROUPS = {
    "changed": (ActionKind.WRITE, ActionKind.DELETE, ActionKind.MOVE),
    "ran": (ActionKind.RUN,),
    "fetched": (ActionKind.FETCH,),
    "read": (ActionKind.READ, ActionKind.SEARCH),
    "other tools": (ActionKind.OTHER,),
}
"""The titles of the tables and the kinds of actions in each, the most important table first."""
_WITH_PATHS = {ActionKind.READ, ActionKind.WRITE}
"""The kinds of actions whose tables list files instead of commands or tools."""
_Mark = tuple[str, str]
"""A warning for the reviewer, such as ``OUTSIDE`` (empty for no warning), and the text or path that
it belongs to."""
_MOST = 10
"""The largest number of sessions that are shown, and the largest number of MCP servers."""
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
        most: the largest number of rows in each table; None for the default of the screen.
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
    for title, kinds in _GROUPS.items():
        actions = [action for action in audit.actions if action.kind in kinds]
        if not actions:
            continue
        page.print()
        page.print(piece(title, bold=True), piece(f"  {len(actions):,}", Ink.FAINT))
        page.lines(table(_columns(audit, kinds, _first(actions, most)), page.screen))
        if most is not None and len(actions) > most:
            page.print(piece(f"  … and {len(actions) - most:,} more, see --top", Ink.FAINT))
    if audit.actions:
        page.print()
        for note in _NOTES:
            page.wrap(piece(""), piece(note, Ink.FAINT))
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
        for session, place in zip(audit.sessions, map(_session, audit.sessions), strict=True)
    ]
    _listed(page, "works in", places)
    _listed(page, "MCP servers", _servers(audit.sessions))
    page.row("actions", _totals(audit))
    if audit.actions:
        page.row("permission", _answers(audit))
    if audit.left_out:
        page.row("left out", f"{audit.left_out:,} later actions, which are not listed")


def _findings(page: RecordingPage, audit: Audit) -> None:
    if audit.findings:
        page.print()
        page.print(piece("to look at", bold=True))
    for finding in audit.findings:
        severity = Severity.ERROR if finding.severity == PROBLEM else Severity.WARNING
        page.finding(severity, finding.text)


def _columns(audit: Audit, kinds: Sequence[ActionKind], actions: Sequence[Action]) -> list[Column]:
    recording = audit.recording
    seqs = {action.id: action.seq for action in audit.actions}
    many = len({action.session for action in audit.actions}) > 1
    sessions = [cell(shortened(action.session or "") if many else "") for action in actions]
    marked = [_what(action) for action in actions]
    warnings = max((len(word) for each in marked for word, _ in each), default=0)
    has_paths = not _WITH_PATHS.isdisjoint(kinds)
    marks = [*map(_directory, actions)]
    is_elsewhere = {*marks} != {("", ".")}
    places = [_marked([mark] if is_elsewhere else []) for mark in marks]
    remarks = [cell(_remarks(action, seqs), Ink.FAINT) for action in actions]
    return [
        Column("at", [cell(_time(recording, a), Ink.FAINT) for a in actions], rank=3),
        Column("seq", [cell(f"#{action.seq}", Ink.FAINT) for action in actions], right=True),
        Column("turn", [cell(str(action.turn or "")) for action in actions], right=True, rank=6),
        Column("session", sessions, rank=7),
        Column("how", [cell(_how(action, kinds[0])) for action in actions], rank=1),
        Column("what", [*map(_marked, marked)], least=16 + warnings, most=60, keeps_ends=has_paths),
        Column("in", places, rank=2, least=8, keeps_ends=True),
        Column("status", [cell(_status(a, recording), _INKS.get(a.status)) for a in actions]),
        Column("known", [_source(action) for action in actions]),
        Column("permission", [_permission(a, recording) for a in actions], rank=-1, least=22),
        Column("remarks", remarks, rank=5, least=10),
    ]


def _marked(marks: Sequence[_Mark]) -> Cell:
    pieces: list[Piece] = []
    for word, text in marks:
        if pieces:
            pieces.append(piece(", "))
        if word:
            ink = Ink.STDERR if word == "UNKNOWN PLACE" else Ink.TROUBLE
            pieces.append(piece(f"{word} ", ink, bold=True))
        pieces.append(piece(text))
    return pieces or cell("")


def _source(action: Action) -> Cell:
    return cell(action.source.value, None if action.source is Source.CLIENT else Ink.STDERR)


def _permission(action: Action, recording: Recording) -> Cell:
    text = _answer(action, recording)
    if action.permissions:
        granted = action.permissions[-1].decision == "granted"
        return cell(text, Ink.PERMISSION if granted else Ink.STDERR)
    return cell(text, Ink.STDERR if action.kind in ASKED_FOR else Ink.FAINT)


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


def _what(action: Action) -> list[_Mark]:
    """Returns the subject of an action: paths, a command or a tool, each with its warning."""
    if action.kind is ActionKind.RUN:
        words = [path.shown for path in action.mentions if path.credential]
        names = f" (names {', '.join(words[:3])})" if words else ""
        mark = "CREDENTIALS" if words else ""
        return [(mark, f"{action.command or action.title or '?'}{names}")]
    if action.kind is ActionKind.FETCH:
        return [("", action.url or action.title or "?")]
    paths = _different(action)
    marks = [_path(path) for path in paths[:EXAMPLES]]
    if (more := len(paths) - EXAMPLES) > 0:
        marks.append(("", f"and {more} more"))
    if action.kind in (ActionKind.SEARCH, ActionKind.OTHER) or not marks:
        title = call_label(action.title or action.tool, action.tool_call) or "?"
        command = f": {action.command}" if action.command else ""
        marks.insert(0, ("", f"{title}{command}"))
    return marks


def _different(action: Action) -> list[AuditedPath]:
    """Returns the paths of an action, each file once.

    A relative path in an unknown directory is left out if it is the end of an absolute path. For a
    move, all paths are returned.
    """
    if action.kind is ActionKind.MOVE:
        return action.paths
    whole = [path.shown for path in action.paths if path.shown.startswith("/")]
    return [
        path
        for path in action.paths
        if path.place is not PathPlace.UNKNOWN
        or not any(full.endswith(f"/{path.shown.removeprefix('./')}") for full in whole)
    ]


def _first(actions: Sequence[Action], most: int | None) -> list[Action]:
    """Chooses at most ``most`` actions, preferably refused or with a warning; sorts them by id."""
    if most is None or len(actions) <= most:
        return [*actions]
    chosen = sorted(actions, key=lambda action: not _is_marked(action))[:most]
    return sorted(chosen, key=lambda action: action.id)


def _is_marked(action: Action) -> bool:
    marks = [*_what(action), _directory(action)]
    is_refused = action.status is ActionStatus.REFUSED or action.refused_before is not None
    return is_refused or any(word for word, _ in marks)


def _how(action: Action, usual: ActionKind) -> str:
    """Returns the operation of an action, such as ``delete``; empty for the usual operation."""
    operations = {path.operation for path in action.paths} - {None, "modify"}
    if action.kind is ActionKind.WRITE and len(operations) == 1 and len(action.paths) == 1:
        return str(next(iter(operations)))
    return "" if action.kind is usual else action.kind.value


def _directory(action: Action) -> _Mark:
    """Returns the directory where a command ran, with a warning; empty if it is not known."""
    return ("", "") if action.directory is None else _path(action.directory)


def _status(action: Action, recording: Recording) -> str:
    """Returns the status of an action in words, with the exit code or signal of a command."""
    if action.status is ActionStatus.UNANSWERED and recording.is_open(live=False):
        return "open"
    if action.exit_signal:
        return f"{action.status.value}, {action.exit_signal}"
    if action.exit_code:
        return f"{action.status.value}, exit {action.exit_code}"
    return action.status.value


def _answer(action: Action, recording: Recording) -> str:
    """Describes the answer to an action's permission request, or says that there was no request."""
    if not action.permissions:
        mode = f" (mode {action.mode})" if action.mode and action.kind in ASKED_FOR else ""
        earlier = action.perhaps_allowed_by[-1:]
        perhaps = "".join(f"; perhaps #{grant.answer_seq} {grant.option}" for grant in earlier)
        if action.refused_before is not None:
            perhaps = f"; #{action.refused_before} refused the same"
        return _missing(recording, f"not asked{perhaps}{mode}")
    last = action.permissions[-1]
    times = f"{len(action.permissions)} times, last " if len(action.permissions) > 1 else ""
    if last.answer_seq is None:
        return f"{times}no answer to #{last.seq}"
    word = last.option if last.option and last.decision in ("granted", "denied") else last.decision
    if word in ("once", "session", "workspace", "always", "remembered"):  # 1.0 draft
        word = f"{last.decision}, {word}"
    waited = took(recording, last.waited_ns)
    return f"{times}#{last.answer_seq} {word} {waited}".rstrip()


@needs("start", "middle", unknown="no request in the import")
def _missing(_recording: Recording, text: str) -> str:
    return text


def _remarks(action: Action, seqs: Mapping[int, int]) -> str:
    """Returns remarks on an action: frames that may report the same action, a fault, an error."""
    texts = []
    if same := [f"#{seqs[number]}" for number in action.perhaps_same_as if number in seqs]:
        texts.append(f"perhaps the same as {', '.join(same[:3])}")
    if action.not_from_agent:
        texts.append("made up by a fault")
    errors = [request.error for request in action.requests if request.error]
    return "; ".join([*texts, *errors[-1:]])


def _totals(audit: Audit) -> str:
    """Returns in words the number of actions of each kind, and from each source."""
    if not audit.actions:
        return "none"
    kinds = ", ".join(
        f"{sum(audit.counts[kind].values()):,} {kind.value}"
        for kind in ActionKind
        if kind.value in audit.counts
    )
    by_client, claimed = (audit.sources.get(source.value, 0) for source in Source)
    return f"{len(audit.actions):,}: {kinds}; {by_client:,} by the client, {claimed:,} claimed"


def _answers(audit: Audit) -> str:
    """Returns in words the number of permission requests with each answer."""
    count = sum(audit.answers.values())
    words = ", ".join(f"{n:,} {word}" for word, n in audit.answers.items())
    never = _missing(audit.recording, "never asked")
    return f"asked {counted(count, 'time')}: {words}" if count else never


def _session(audited_session: AuditedSession) -> str:
    """Returns the working directory and the other directories of a session, in one text."""
    unknown = "in a directory that is not in the recording"
    where = unknown if audited_session.cwd is None else audited_session.cwd
    return " + ".join([where, *audited_session.directories])


def _servers(sessions: Iterable[AuditedSession]) -> list[str]:
    """Returns the MCP servers of all sessions, each once."""
    every = (server for session in sessions for server in session.mcp_servers)
    texts = (
        f"{server.name} ({server.type}): {server.command or server.url or 'through the client'}"
        for server in every
    )
    return [*dict.fromkeys(texts)]


def _path(path: AuditedPath) -> _Mark:
    words = []
    if path.place is PathPlace.OUTSIDE:
        words.append("OUTSIDE")
    elif path.place is PathPlace.UNKNOWN:
        words.append("UNKNOWN PLACE")
    if path.credential:
        words.append("CREDENTIALS")
    return (" ".join(words), path.shown)
