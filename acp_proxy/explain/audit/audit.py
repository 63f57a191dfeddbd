"""Audits a recording: lists the agent's actions with their paths and their permissions.

One pass reads all frames. The outcomes of actions are decided after the pass.
"""

from collections import Counter

from acp_proxy.base.limits import SHORT_LIST
from acp_proxy.explain.audit.actions import ActionLog
from acp_proxy.explain.audit.audit_findings import KINDS, find
from acp_proxy.explain.audit.audit_values import (
    ASKED_FOR,
    Action,
    ActionKind,
    ActionStatus,
    Audit,
    Source,
)
from acp_proxy.explain.audit.paths import mentions
from acp_proxy.explain.audit.permission_log import CANCELLED, UNANSWERED, is_refused
from acp_proxy.explain.audit.statements import normal_command
from acp_proxy.explain.message_pass import PAUSE_NS, MessagePass, Watch
from acp_proxy.protocol.permissions import DENIED
from acp_proxy.recording.filters import EVERYTHING, Filter
from acp_proxy.store.reader import RecordingReader

_SAID = {
    "completed": ActionStatus.DONE,
    "cancelled": ActionStatus.CANCELLED,
    "denied": ActionStatus.REFUSED,
}
_Key = tuple[str | None, int | None, ActionKind, str]


def finish(log: ActionLog) -> list[Action]:
    """Decides the outcomes of all logged actions.

    Returns the actions in the order in which they began.
    """
    actions = [action for action in log.actions if not action.is_absorbed]
    actions.sort(key=lambda action: (action.seq, action.id))
    for number, action in enumerate(actions, 1):
        action.id = number
        action.source = Source.CLIENT if action.requests else Source.CLAIMED
        if action.call.status:
            action.call_status, action.call_seq = action.call.status, action.call.status_seq
        action.status = _status(action)
        if action.kind is ActionKind.RUN:
            command = action.command or action.title or ""
            where = None if action.directory is None else action.directory.path
            action.mentions = mentions(command, action.directories, where)
        if action.permissions:
            continue
        if (same := action.same_asked) is not None and same.decision in (DENIED, CANCELLED):
            action.refused_before = same.answer_seq
        elif action.kind in ASKED_FOR:
            action.perhaps_allowed_by = log.permissions.grants_before(action)
    _name_alike(actions)
    return actions


def _status(action: Action) -> ActionStatus:
    if action.requests:
        return _answered_status(action)
    decision = action.permissions[-1].decision if action.permissions else None
    if (said := _SAID.get(action.call.status)) is not None:
        return said
    if action.call.is_failed or not action.call.status or is_refused(action):
        if decision == DENIED:
            return ActionStatus.REFUSED
        if decision == CANCELLED:
            return ActionStatus.CANCELLED
    if action.call.is_failed:
        return ActionStatus.FAILED
    if action.exit_code is not None or action.exit_signal is not None:
        return ActionStatus.DONE
    return ActionStatus.UNANSWERED if decision == UNANSWERED else ActionStatus.UNKNOWN


def _answered_status(action: Action) -> ActionStatus:
    """Returns the status of an action that the client carried out, from the client's answers."""
    outcomes = {request.outcome for request in action.requests}
    if "result" in outcomes:
        is_ended = action.exit_code is not None or action.exit_signal is not None
        is_running = action.kind is ActionKind.RUN and not is_ended
        return ActionStatus.STARTED if is_running else ActionStatus.DONE
    if "unanswered" in outcomes:
        return ActionStatus.UNANSWERED
    return ActionStatus.FAILED if "error" in outcomes else ActionStatus.CANCELLED


def _name_alike(actions: list[Action]) -> None:
    """Links two actions that may be the same: one requested of the client, one only reported."""
    by_client: dict[_Key, list[Action]] = {}
    for action in actions:
        if action.source is Source.CLIENT:
            for key in _keys(action):
                by_client.setdefault(key, []).append(action)
    for action in actions:
        if action.source is Source.CLAIMED and action.may_have_happened:
            alike = (a for key in _keys(action) for a in by_client.get(key, ())[:SHORT_LIST])
            same = {other.id: other for other in alike}
            for other in [*same.values()][:SHORT_LIST]:
                action.perhaps_same_as.append(other.id)
                if len(other.perhaps_same_as) < SHORT_LIST:
                    other.perhaps_same_as.append(action.id)


def _keys(action: Action) -> set[_Key]:
    """Returns the keys of an action. Two actions with a common key may be the same action."""
    if action.kind is ActionKind.RUN:
        about = {normal_command(action.command or action.title)} - {""}
    else:
        about = {path.shown for path in action.paths}
    return {(action.session, action.turn, action.kind, text) for text in about}


def audit(reader: RecordingReader, chosen: Filter = EVERYTHING, watch: Watch = iter) -> Audit:
    """Returns the actions of an agent, after one pass over the frames.

    Args:
        reader: the recording.
        chosen: a filter. An action is listed if at least one of its frames matches.
        watch: a function that yields the runs of frames unchanged, and may show the progress.

    Raises:
        UnreadableRecording: the file is damaged, or locked.
    """
    messages = MessagePass(reader)
    log = ActionLog(reader, messages)
    messages.play_to([log], PAUSE_NS, watch)
    recording = reader.recording
    actions = finish(log)
    if chosen is not EVERYTHING:
        actions = _matching(reader, actions, chosen)
    counts: dict[str, Counter[str]] = {}
    for action in actions:
        counts.setdefault(action.kind.value, Counter())[action.status.value] += 1
    asked = {id(permission): permission for action in actions for permission in action.permissions}
    findings = find(actions, asked=log.permissions.any_asked)
    findings = [finding for finding in findings if recording.knows(*KINDS[finding.kind])]
    return Audit(
        recording=recording,
        path=str(reader.path),
        live=reader.live,
        agent_command=recording.words,
        sessions=[*log.sessions.sessions.values()],
        actions=actions,
        counts={kind: dict(statuses) for kind, statuses in counts.items()},
        sources=dict(Counter(action.source.value for action in actions)),
        answers=dict(Counter(permission.decision for permission in asked.values())),
        findings=findings,
        left_out=log.left_out,
    )


def _matching(reader: RecordingReader, actions: list[Action], chosen: Filter) -> list[Action]:
    """Returns the actions with at least one frame that matches a filter."""
    wanted = {seq for action in actions for seq in action.seqs}
    matching = {head.seq for head in reader.heads(chosen) if head.seq in wanted}
    return [action for action in actions if not matching.isdisjoint(action.seqs)]
