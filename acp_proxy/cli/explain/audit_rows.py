"""The texts for the actions of an audit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from acp_proxy.base.limits import EXAMPLES
from acp_proxy.base.wording import counted
from acp_proxy.explain.audit.audit_values import (
    ASKED_FOR,
    Action,
    ActionKind,
    ActionStatus,
    Audit,
    AuditedPath,
    AuditedServer,
    AuditedSession,
    PathPlace,
    Source,
)
from acp_proxy.explain.describe.tool_texts import call_label
from acp_proxy.explain.origins import took
from acp_proxy.recording.recording import Recording, needs

CLAIMED_NOTE = (
    "client: the agent asked its client to do it, and the client's answer shows the outcome."
    " claimed: only the agent reports it; the recording does not prove it."
)
PATHS_NOTE = (
    "Paths are compared as text: symbolic links are not followed, and the effect of a command on"
    " the paths that it names is not known."
)
_NOT_IMPORTED = "no request in the import"
QUIET = frozenset(ActionKind) - ASKED_FOR
"""The kinds of actions that agents seldom request permission for."""


@frozen
class Group:
    """The actions of one table."""

    title: str
    kinds: tuple[ActionKind, ...]

    @property
    def has_paths(self) -> bool:
        """Whether the actions are about files, not about commands or tools."""
        return ActionKind.READ in self.kinds or ActionKind.WRITE in self.kinds


GROUPS = (
    Group("changed", (ActionKind.WRITE, ActionKind.DELETE, ActionKind.MOVE)),
    Group("ran", (ActionKind.RUN,)),
    Group("fetched", (ActionKind.FETCH,)),
    Group("read", (ActionKind.READ, ActionKind.SEARCH)),
    Group("other tools", (ActionKind.OTHER,)),
)
"""The tables, in the order of their importance for a reviewer."""


@frozen
class Mark:
    """A text or path, with a warning word for the reviewer before it."""

    word: str
    text: str


def groups(actions: Sequence[Action]) -> Iterator[tuple[Group, list[Action]]]:
    """Yields the tables that have actions."""
    for group in GROUPS:
        if chosen := [action for action in actions if action.kind in group.kinds]:
            yield group, chosen


def what(action: Action) -> list[Mark]:
    """Returns the subject of an action, as marked parts."""
    if action.kind is ActionKind.RUN:
        words = [path.shown for path in action.mentions if path.credential]
        names = f" (names {', '.join(words[:3])})" if words else ""
        mark = "CREDENTIALS" if words else ""
        return [Mark(mark, f"{action.command or action.title or '?'}{names}")]
    if action.kind is ActionKind.FETCH:
        return [Mark("", action.url or action.title or "?")]
    paths = _different(action)
    marks = [_path(path) for path in paths[:EXAMPLES]]
    if (more := len(paths) - EXAMPLES) > 0:
        marks.append(Mark("", f"and {more} more"))
    if action.kind in (ActionKind.SEARCH, ActionKind.OTHER) or not marks:
        title = call_label(action.title or action.tool, action.tool_call) or "?"
        command = f": {action.command}" if action.command else ""
        marks.insert(0, Mark("", f"{title}{command}"))
    return marks


def _different(action: Action) -> list[AuditedPath]:
    """Returns the paths of an action, each file once.

    A relative path in an unknown directory is left out if an absolute path ends with it. For a
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


def first(actions: Sequence[Action], most: int | None) -> list[Action]:
    """Returns the first actions of a table, in order; marked actions take precedence.

    Args:
        actions: all actions of the table.
        most: the largest number of actions that are returned; None for all.
    """
    if most is None or len(actions) <= most:
        return [*actions]
    chosen = sorted(actions, key=lambda action: not _is_marked(action))[:most]
    return sorted(chosen, key=lambda action: action.id)


def _is_marked(action: Action) -> bool:
    marks = [*what(action), directory(action)]
    is_refused = action.status is ActionStatus.REFUSED or action.refused_before is not None
    return is_refused or any(mark.word for mark in marks)


def how(action: Action, group: Group) -> str:
    """Returns the operation of an action; empty if it is the usual operation of the table.

    Args:
        action: the action.
        group: the table of the action.
    """
    operations = {path.operation for path in action.paths} - {None, "modify"}
    if action.kind is ActionKind.WRITE and len(operations) == 1 and len(action.paths) == 1:
        return str(next(iter(operations)))
    return "" if action.kind is group.kinds[0] else action.kind.value


def directory(action: Action) -> Mark:
    """Returns the directory of a command; empty if it is not known."""
    return Mark("", "") if action.directory is None else _path(action.directory)


def status(action: Action, recording: Recording) -> str:
    """Returns the outcome of an action.

    Args:
        action: the action.
        recording: the recording of the action.
    """
    if action.status is ActionStatus.UNANSWERED and recording.is_open(live=False):
        return "open"
    if action.exit_signal:
        return f"{action.status.value}, {action.exit_signal}"
    if action.exit_code:
        return f"{action.status.value}, exit {action.exit_code}"
    return action.status.value


def permission(action: Action, recording: Recording) -> str:
    """Returns the answer to an action's permission request; if there was no request, says so.

    Args:
        action: the action.
        recording: the recording of the action.
    """
    if not action.permissions:
        mode = f" (mode {action.mode})" if action.mode and action.kind in ASKED_FOR else ""
        earlier = action.perhaps_allowed_by[-1:]
        perhaps = "".join(f"; #{grant.answer_seq} {grant.option} may cover it" for grant in earlier)
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
    after = f", after {waited}" if waited else ""
    return f"{times}#{last.answer_seq} {word}{after}"


@needs("start", "middle", unknown=_NOT_IMPORTED)
def _missing(_recording: Recording, text: str) -> str:
    return text


def remarks(action: Action, seqs: Mapping[int, int]) -> str:
    """Returns further remarks on an action.

    Args:
        action: the action.
        seqs: the frame of each action, by the number of the action.
    """
    texts = []
    if same := [f"#{seqs[number]}" for number in action.perhaps_same_as if number in seqs]:
        texts.append(f"perhaps the same as {', '.join(same[:3])}")
    if action.not_from_agent:
        texts.append("made up by a fault")
    errors = [request.error for request in action.requests if request.error]
    return "; ".join([*texts, *errors[-1:]])


def totals(audit: Audit) -> str:
    """Returns the number of actions by kind, and by who reports them."""
    if not audit.actions:
        return "none"
    kinds = ", ".join(
        f"{sum(audit.counts[kind].values()):,} {kind.value}"
        for kind in ActionKind
        if kind.value in audit.counts
    )
    by_client, claimed = (audit.sources.get(source.value, 0) for source in Source)
    return f"{len(audit.actions):,}: {kinds}; {by_client:,} by the client, {claimed:,} claimed"


def answers(audit: Audit) -> str:
    """Returns the number of permission requests, by answer."""
    count = sum(audit.answers.values())
    words = ", ".join(f"{n:,} {word}" for word, n in audit.answers.items())
    never = _missing(audit.recording, "never asked")
    return f"asked {counted(count, 'time')}: {words}" if count else never


def session(audited_session: AuditedSession) -> str:
    """Returns the directories of a session."""
    where = (
        audited_session.cwd
        if audited_session.cwd is not None
        else "in a directory that is not in the recording"
    )
    return " + ".join([where, *audited_session.directories])


def servers(sessions: Iterable[AuditedSession]) -> list[str]:
    """Returns the MCP servers of all sessions, each once."""
    return [
        *dict.fromkeys(
            _server(mcp_server) for session in sessions for mcp_server in session.mcp_servers
        )
    ]


def _server(audited_server: AuditedServer) -> str:
    how = audited_server.command or audited_server.url or "through the client"
    return f"{audited_server.name} ({audited_server.type}): {how}"


def _path(path: AuditedPath) -> Mark:
    words = []
    if path.place is PathPlace.OUTSIDE:
        words.append("OUTSIDE")
    elif path.place is PathPlace.UNKNOWN:
        words.append("UNKNOWN PLACE")
    if path.credential:
        words.append("CREDENTIALS")
    return Mark(" ".join(words), path.shown)
