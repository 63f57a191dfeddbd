"""The words for the actions of an audit."""

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
    "client: the agent had its client do it, and the client's answer says what became of it."
    " claimed: the agent says so itself, and the recording cannot show it."
)
PATHS_NOTE = (
    "Paths are compared as text: symbolic links are not followed, and what a command does with its"
    " words is not known."
)
_NOT_IMPORTED = "no request in what was imported"
QUIET = frozenset(ActionKind) - ASKED_FOR
"""Kinds of actions for which agents seldom ask permission."""


@frozen
class Group:
    """The actions of one table."""

    title: str
    kinds: tuple[ActionKind, ...]

    @property
    def has_paths(self) -> bool:
        """Whether they are about files, and not what a command or a tool does."""
        return ActionKind.READ in self.kinds or ActionKind.WRITE in self.kinds


GROUPS = (
    Group("changed", (ActionKind.WRITE, ActionKind.DELETE, ActionKind.MOVE)),
    Group("ran", (ActionKind.RUN,)),
    Group("fetched", (ActionKind.FETCH,)),
    Group("read", (ActionKind.READ, ActionKind.SEARCH)),
    Group("other tools", (ActionKind.OTHER,)),
)
"""The tables, what a reviewer asks for first at the top."""


@frozen
class Mark:
    """A word that a reviewer should not miss, and the path or text that follows it."""

    word: str
    text: str


def groups(actions: Sequence[Action]) -> Iterator[tuple[Group, list[Action]]]:
    """Yields the tables that have actions."""
    for group in GROUPS:
        if found := [action for action in actions if action.kind in group.kinds]:
            yield group, found


def what(action: Action) -> list[Mark]:
    """Returns what an action is about, in parts of which each has its own mark."""
    if action.kind is ActionKind.RUN:
        words = [path.shown for path in action.mentions if path.credential]
        names = f" (names {', '.join(words[:3])})" if words else ""
        mark = "CREDENTIALS" if words else ""
        return [Mark(mark, f"{action.command or action.title or '?'}{names}")]
    if action.kind is ActionKind.FETCH:
        return [Mark("", action.url or action.title or "?")]
    paths = _different(action)
    found = [_path(path) for path in paths[:EXAMPLES]]
    if (more := len(paths) - EXAMPLES) > 0:
        found.append(Mark("", f"and {more} more"))
    if action.kind in (ActionKind.SEARCH, ActionKind.OTHER) or not found:
        title = call_label(action.title or action.tool, action.tool_call) or "?"
        command = f": {action.command}" if action.command else ""
        found.insert(0, Mark("", f"{title}{command}"))
    return found


def _different(action: Action) -> list[AuditedPath]:
    """Returns the paths of an action, without a second path of the same file.

    A relative path in an unknown place is the end of an absolute one, unless something was moved.
    """
    if action.kind is ActionKind.MOVE:
        return action.paths
    whole = [path.shown for path in action.paths if path.shown.startswith("/")]
    return [
        path
        for path in action.paths
        if path.place is not PathPlace.UNKNOWN
        or not any(one.endswith(f"/{path.shown.removeprefix('./')}") for one in whole)
    ]


def first(actions: Sequence[Action], most: int | None) -> list[Action]:
    """Returns some actions of a table, in their order: those with marks before others.

    Args:
        actions: all of them.
        most: how many; all if it is None.
    """
    if most is None or len(actions) <= most:
        return [*actions]
    chosen = sorted(actions, key=lambda one: not _is_marked(one))[:most]
    return sorted(chosen, key=lambda one: one.id)


def _is_marked(action: Action) -> bool:
    marks = [*what(action), directory(action)]
    is_refused = action.status is ActionStatus.REFUSED or action.refused_before is not None
    return is_refused or any(mark.word for mark in marks)


def how(action: Action, group: Group) -> str:
    """Returns what was done, where that is not what most actions of the table do.

    Args:
        action: the action.
        group: its table.
    """
    operations = {path.operation for path in action.paths} - {None, "modify"}
    if action.kind is ActionKind.WRITE and len(operations) == 1 and len(action.paths) == 1:
        return str(next(iter(operations)))
    return "" if action.kind is group.kinds[0] else action.kind.value


def directory(action: Action) -> Mark:
    """Returns the directory of a command; empty if it was not said."""
    return Mark("", "") if action.directory is None else _path(action.directory)


def status(action: Action, recording: Recording) -> str:
    """Returns what became of an action.

    Args:
        action: the action.
        recording: that it is from.
    """
    if action.status is ActionStatus.UNANSWERED and recording.is_open(live=False):
        return "open"
    if action.exit_signal:
        return f"{action.status.value}, {action.exit_signal}"
    if action.exit_code:
        return f"{action.status.value}, exit {action.exit_code}"
    return action.status.value


def permission(action: Action, recording: Recording) -> str:
    """Returns who allowed an action, or that nobody was asked.

    Args:
        action: the action.
        recording: that it is from.
    """
    if not action.permissions:
        mode = f" (mode {action.mode})" if action.mode and action.kind in ASKED_FOR else ""
        earlier = action.perhaps_allowed_by[-1:]
        perhaps = "".join(f"; #{one.answer_seq} {one.option} may cover it" for one in earlier)
        if action.refused_before is not None:
            perhaps = f"; #{action.refused_before} refused the same"
        return _missing(recording, f"not asked{perhaps}{mode}")
    last = action.permissions[-1]
    times = f"{len(action.permissions)} ×, last " if len(action.permissions) > 1 else ""
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
    """Returns what else should be known of an action.

    Args:
        action: the action.
        seqs: the frames of all actions by their numbers.
    """
    found = []
    if same := [f"#{seqs[number]}" for number in action.perhaps_same_as if number in seqs]:
        found.append(f"perhaps the same as {', '.join(same[:3])}")
    if action.not_from_agent:
        found.append("made up by a fault")
    errors = [request.error for request in action.requests if request.error]
    return "; ".join([*found, *errors[-1:]])


def totals(audit: Audit) -> str:
    """Returns how many actions there are, by kind, and who says so."""
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
    """Returns how often permission was asked, and with which answers."""
    count = sum(audit.answers.values())
    words = ", ".join(f"{n:,} {word}" for word, n in audit.answers.items())
    never = _missing(audit.recording, "never asked")
    return f"asked {counted(count, 'time')}: {words}" if count else never


def session(audited_session: AuditedSession) -> str:
    """Returns where a session works."""
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
