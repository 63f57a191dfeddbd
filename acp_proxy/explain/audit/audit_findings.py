"""Finds actions that a reviewer should look at, and describes each finding in one sentence."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from acp_proxy.base.limits import LISTED, NAMED, PHRASE
from acp_proxy.base.wording import counted, plain
from acp_proxy.explain.audit.audit_values import (
    ASKED_FOR,
    PROBLEM,
    REMARK,
    Action,
    ActionKind,
    ActionStatus,
    AuditedPath,
    AuditedPermission,
    AuditFinding,
    PathPlace,
    Source,
)
from acp_proxy.explain.audit.paths import may_be_same
from acp_proxy.explain.audit.permission_log import is_refused
from acp_proxy.explain.audit.statements import normal_command
from acp_proxy.explain.describe.tool_texts import call_label
from acp_proxy.explain.waits import AT_ONCE_NS
from acp_proxy.protocol.permissions import GRANTED
from acp_proxy.recording.recording import Fact

_WORDS = {
    ActionKind.READ: ("read", "reads", "read", "read"),
    ActionKind.SEARCH: ("search", "searches", "searched", "search"),
    ActionKind.WRITE: ("write", "writes", "wrote", "write"),
    ActionKind.DELETE: ("deletion", "deletions", "deleted", "delete"),
    ActionKind.MOVE: ("move", "moves", "moved", "move"),
    ActionKind.RUN: ("command", "commands", "ran", "run"),
    ActionKind.FETCH: ("fetch", "fetches", "fetched", "fetch"),
    ActionKind.OTHER: ("other tool call", "other tool calls", "did", "do"),
}
"""For each kind of action: a noun, its plural, a verb in the past tense, and its infinitive."""
_READS = (ActionKind.READ, ActionKind.SEARCH)
_ALL: tuple[Fact, ...] = ("start", "middle")
KINDS: dict[str, tuple[Fact, ...]] = {
    "answered-at-once": ("durations",), "asked-for-another": (), "before-answer": _ALL,
    "command-outside": (), "credentials": (), "made-up": (), "never-asked": _ALL, "not-asked": _ALL,
    "other-not-asked": _ALL, "outside": (), "perhaps-allowed": _ALL, "place-unknown": (),
    "refused-but-done": (),
}  # fmt: skip
"""For each kind of finding, the facts that a recording must have."""


def find(actions: Sequence[Action], *, asked: bool) -> list[AuditFinding]:
    """Returns the findings of an audit, the problems first.

    Args:
        actions: the actions of the audit.
        asked: whether the agent asked for any permission in the recording.
    """
    happened = [action for action in actions if action.may_have_happened]
    tried = [action for action in actions if not action.may_have_happened]
    findings = [
        *_problems("refused-but-done", happened, _done_after_refusal),
        *_of_several(
            "before-answer", PROBLEM, filter(_is_early, happened),
            "began before the permission request was answered",
        ),
        *_problems("asked-for-another", happened, _done_for_another),
        *_credentials(happened, tried),
        *_outside(happened, tried),
        *_not_asked(happened, asked=asked),
        *_mentioned(happened),
        *_of_several(
            "place-unknown", REMARK, filter(_is_unclear, happened),
            "in places that may or may not be in the session's directory",
        ),
        *_answered_at_once(actions),
        *_of_several(
            "made-up", REMARK, (action for action in actions if action.not_from_agent),
            "made up by a fault, not by the agent",
        ),
    ]  # fmt: skip
    return sorted(findings, key=lambda finding: finding.severity != PROBLEM)


def subject(action: Action) -> str:
    """Returns the subject of an action, such as a path or a command, as printable text."""
    if action.kind is ActionKind.RUN:
        text = action.command or action.title
    elif action.kind is ActionKind.FETCH:
        text = action.url or action.title
    elif action.paths and action.kind is not ActionKind.OTHER:
        more = f" and {len(action.paths) - 1} more" if len(action.paths) > 1 else ""
        text = f"{action.paths[0].shown}{more}"
    else:
        text = call_label(action.title or action.tool, action.tool_call)
    return _short(text or action.tool or action.tool_call or "?")


def named(actions: Sequence[Action]) -> str:
    """Names at most three actions by subject and frame, and tells how many more there are."""
    return _listed([f"{subject(action)} {_number(action)}" for action in actions])


def _problems(
    kind: str, actions: Iterable[Action], text_of: Callable[[Action], str]
) -> list[AuditFinding]:
    """Returns one finding for each action with a problem; at most `LISTED` findings.

    ``text_of`` returns the text of the finding about an action; empty for no finding.
    """
    texts = ((action, text_of(action)) for action in actions)
    return [_finding(kind, PROBLEM, text, [action]) for action, text in texts if text][:LISTED]


def _done_after_refusal(action: Action) -> str:
    did = f"{_did(action)} {subject(action)}"
    if action.refused_before is not None and action.same_asked is not None:
        return f"{did} (#{action.seq}) after {_refusal(action.same_asked, ' for the same')}"
    if (seq := _seq_after_refusal(action)) is not None:
        return f"{did} (#{seq}) although {_refusal(action.permissions[-1])}"
    return ""


def _refusal(asked: AuditedPermission, whose: str = "") -> str:
    """Describes an answer that did not grant a permission request."""
    if asked.decision == "error":
        return f"the permission request{whose} was answered with an error (#{asked.answer_seq})"
    return f"permission{whose} was {asked.decision} (#{asked.answer_seq})"


def _seq_after_refusal(action: Action) -> int | None:
    """Returns the number of the frame which shows that a refused action was done, or None."""
    asked = action.permissions[-1] if action.permissions else None
    if asked is None or not (is_refused(action) or asked.decision == "error"):
        return None
    refused = asked.answer_seq or 0
    for request in action.requests:
        if request.seq > refused and request.outcome in ("result", "unanswered"):
            return request.seq
    return action.call_seq if _is_reported(action) and (action.call_seq or 0) > refused else None


def _is_reported(action: Action) -> bool:
    """Whether the agent reports an action as done although it sent no request to the client."""
    return action.call_status == "completed" and not action.requests


def _is_early(action: Action) -> bool:
    """Whether an action began while its permission request was open."""
    if not action.permissions or action.kind not in ASKED_FOR:
        return False
    first = action.permissions[0]
    seqs = [r.seq for r in action.requests if r.seq >= first.seq]  # equal within a batch
    if _is_reported(action) and (action.call_seq or 0) > first.seq:
        seqs = [action.call_seq or 0]
    return any(first.answer_seq is None or seq < first.answer_seq for seq in seqs)


def _done_for_another(action: Action) -> str:
    did, granted = _did(action), action.instead_of
    if granted is not None and not granted.requests and not action.perhaps_allowed_by:
        seq = granted.permissions[-1].seq
        return (
            f"{did} {subject(action)} (#{action.seq}) without a permission request, while"
            f" permission was given for {subject(granted)} (#{seq}), for which the agent requested"
            " nothing"
        )
    if _is_granted(action):
        asked = action.permissions[-1]
        if other := _differing(action, asked):
            given = f"permission was given for {_scope(asked)} (#{asked.seq})"
            return f"{given}, but {did} {other} (#{_last_seq(action)})"
    return ""


def _differing(action: Action, asked: AuditedPermission) -> str:
    """Returns the command or the paths of an action if its permission request does not name them.

    The text is empty if the request names everything, or contains neither a command nor a path.
    """
    if action.kind is ActionKind.RUN:
        command, wanted = normal_command(action.command), normal_command(asked.command)
        is_another = command and wanted and command != wanted
        return _short(command) if is_another else ""
    if action.kind not in ASKED_FOR or not asked.paths:
        return ""
    return _listed([
        _short(path.shown)
        for path in action.done_paths
        if not any(may_be_same(path, known) for known in asked.paths)
    ])  # fmt: skip


def _credentials(happened: Iterable[Action], tried: Iterable[Action]) -> Iterator[AuditFinding]:
    for actions, what in ((happened, ""), (tried, "tried, and not done: ")):
        named_paths = [
            (action, path)
            for action in actions
            for path in (*action.done_paths, *action.mentions)
            if path.credential
        ]
        if not named_paths:
            continue
        allowed = all(_is_granted(action) for action, _ in named_paths) or bool(what)
        names = _listed([
            f"{'a command names' if path in action.mentions else _WORDS[action.kind][2]}"
            f" {_short(path.shown)} {_number(action)}"
            for action, path in named_paths
        ])  # fmt: skip
        several = "files that look" if len(named_paths) > 1 else "a file that looks"
        yield _finding(
            "credentials",
            REMARK if allowed else PROBLEM,
            f"{what}{several} like credentials: {names}",
            _unique(action for action, _ in named_paths),
        )


def _outside(happened: Iterable[Action], tried: Iterable[Action]) -> Iterator[AuditFinding]:
    for actions, what in ((happened, ""), (tried, ", refused, failed or not answered")):
        by_kind: dict[ActionKind, list[Action]] = {}
        for action in actions:
            if outside_paths(action):
                by_kind.setdefault(action.kind, []).append(action)
        for kind, outside in by_kind.items():
            allowed = kind in _READS or bool(what) or all(map(_is_granted, outside))
            names = _listed([
                f"{_where(action)} {_number(action)}" for action in outside
            ])  # fmt: skip
            yield _finding(
                "outside",
                REMARK if allowed else PROBLEM,
                f"{_count(kind, len(outside))} outside the session's directory{what}: {names}",
                outside,
            )


def _where(action: Action) -> str:
    path = _short(outside_paths(action)[0].shown)
    return f"{subject(action)} in {path}" if action.kind is ActionKind.RUN else path


def outside_paths(action: Action) -> list[AuditedPath]:
    """Returns the paths of an action that are outside the session's directories.

    The directory of a command counts as one of the paths.
    """
    every = [*action.done_paths, *([action.directory] if action.directory is not None else [])]
    return [path for path in every if path.place is PathPlace.OUTSIDE]


def _not_asked(happened: Iterable[Action], *, asked: bool) -> Iterator[AuditFinding]:
    unasked = [a for a in happened if not a.permissions and a.refused_before is None]
    if not asked:
        wanted = [action for action in unasked if action.kind in ASKED_FOR]
        if wanted:
            kinds = dict.fromkeys(action.kind for action in wanted)
            counts = ", ".join(
                _count(kind, sum(action.kind is kind for action in wanted)) for kind in kinds
            )
            claimed = sum(action.source is Source.CLAIMED for action in wanted)
            more = f" ({claimed:,} of them claimed)" if claimed else ""
            text = f"the agent never asked for permission: {counts}{more}"
            yield _finding("never-asked", REMARK, text, wanted)
        return
    for kind in ActionKind:
        of_kind = [action for action in unasked if action.kind is kind]
        if kind in ASKED_FOR:
            how = "without a permission request"
            plainly = (action for action in of_kind if not action.perhaps_allowed_by)
            yield from _of_several("not-asked", REMARK, plainly, how)
            perhaps = [action for action in of_kind if action.perhaps_allowed_by]
            earlier = dict.fromkeys(action.perhaps_allowed_by[-1].answer_seq for action in perhaps)
            how += f", perhaps covered by an earlier answer ({_listed([f'#{n}' for n in earlier])})"
            yield from _of_several("perhaps-allowed", REMARK, perhaps, how)
        if kind is ActionKind.OTHER:
            silent = (a for a in of_kind if a.tool or a.requests or a.paths)
            how = "without a permission request; what they do is not in the recording"
            yield from _of_several("other-not-asked", REMARK, silent, how)


def _mentioned(happened: Iterable[Action]) -> Iterator[AuditFinding]:
    named_paths = [
        (action, path)
        for action in happened
        for path in action.mentions
        if not path.credential and path.place is not PathPlace.INSIDE
    ]
    if named_paths:
        names = _listed([f"{_short(path.shown)} {_number(action)}" for action, path in named_paths])
        where = "outside the session's directory, or in an unknown place"
        text = f"commands name paths {where}: {names}"
        yield _finding("command-outside", REMARK, text, _unique(a for a, _ in named_paths))


def _is_unclear(action: Action) -> bool:
    paths = (*action.paths, action.directory)
    return any(path is not None and path.place is PathPlace.UNKNOWN for path in paths)


def _answered_at_once(actions: Iterable[Action]) -> Iterator[AuditFinding]:
    quick = {
        id(permission): action
        for action in actions
        for permission in action.permissions
        if permission.decision == GRANTED
        and permission.waited_ns is not None
        and permission.waited_ns < AT_ONCE_NS
    }
    if granted := _unique(quick.values()):
        count = counted(len(quick), "permission request")
        were = "was" if len(quick) == 1 else "were"
        text = f"{count} {were} granted within 0.1 s, so hardly by a person: {named(granted)}"
        yield _finding("answered-at-once", REMARK, text, granted)


def _of_several(
    kind: str, severity: str, actions: Iterable[Action], how: str
) -> Iterator[AuditFinding]:
    """Yields one finding about all the actions together, if there are any actions."""
    several = [*actions]
    kinds = {action.kind for action in several}
    count = counted(len(several), "action")
    if len(kinds) == 1:
        count = _count(several[0].kind, len(several))
    if several:
        yield _finding(kind, severity, f"{count} {how}: {named(several)}", several)


def _finding(kind: str, severity: str, text: str, actions: Sequence[Action]) -> AuditFinding:
    ids, seqs = [action.id for action in actions], [action.seq for action in actions]
    return AuditFinding(kind, severity, text, ids, seqs)


def _count(kind: ActionKind, count: int) -> str:
    return f"{count:,} {_WORDS[kind][count != 1]}"


def _number(action: Action) -> str:
    """Returns the number of an action's first frame, and "claimed" if only the agent reports it."""
    return f"(#{action.seq})" if action.source is Source.CLIENT else f"(#{action.seq}, claimed)"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join([*names[:NAMED], *([f"and {more:,} more"] if more > 0 else [])])


def _unique(actions: Iterable[Action]) -> list[Action]:
    return [*{action.id: action for action in actions}.values()]


def _is_granted(action: Action) -> bool:
    return bool(action.permissions) and action.permissions[-1].decision == GRANTED


def _did(action: Action) -> str:
    """Returns the first words of a sentence about an action: who did it, or who announced it."""
    _, _, past, plainly = _WORDS[action.kind]
    if action.source is Source.CLIENT:
        asked = action.status is ActionStatus.UNANSWERED
        return f"the client was asked to {plainly}" if asked else f"the client {past}"
    if action.status is ActionStatus.DONE:
        return f"the agent says that it {past}"
    return f"the agent announced that it would {plainly}"


def _scope(asked: AuditedPermission) -> str:
    if asked.command:
        return _short(asked.command)
    return _listed([_short(path.shown) for path in asked.paths]) or _short(asked.title)


def _last_seq(action: Action) -> int:
    return action.requests[-1].seq if action.requests else action.call_seq or action.seq


def _short(text: str) -> str:
    text = plain(text)
    return text if len(text) <= PHRASE else f"{text[: PHRASE - 1]}…"
