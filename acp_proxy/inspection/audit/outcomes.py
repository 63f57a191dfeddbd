"""Decides the outcome of each action after the pass, and numbers the actions."""

from acp_proxy.inspection.audit.actions import ActionLog
from acp_proxy.inspection.audit.paths import mentions
from acp_proxy.inspection.audit.permission_log import CANCELLED, UNANSWERED, is_refused
from acp_proxy.inspection.audit.statements import normal_command
from acp_proxy.inspection.audit.values import ASKED_FOR, Action, ActionKind, ActionStatus, Source
from acp_proxy.protocol.permissions import DENIED
from acp_proxy.protocol.updates import FAILED

_SAID = {
    "completed": ActionStatus.DONE,
    "cancelled": ActionStatus.CANCELLED,
    "denied": ActionStatus.REFUSED,
}
_MOST_ALIKE = 20
_Key = tuple[str | None, int | None, ActionKind, str]


def finish(log: ActionLog) -> list[Action]:
    """Completes all actions and returns them in the order in which they began."""
    actions = [action for action in log.actions if not action.is_absorbed]
    actions.sort(key=lambda action: (action.seq, action.id))
    for number, action in enumerate(actions, 1):
        action.id = number
        action.source = Source.CLIENT if action.requests else Source.CLAIMED
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
    if (said := _SAID.get(action.call_status or "")) is not None:
        return said
    if action.call_status in FAILED or action.call_status is None or is_refused(action):
        if decision == DENIED:
            return ActionStatus.REFUSED
        if decision == CANCELLED:
            return ActionStatus.CANCELLED
    if action.call_status in FAILED:
        return ActionStatus.FAILED
    if action.exit_code is not None or action.exit_signal is not None:
        return ActionStatus.DONE
    return ActionStatus.UNANSWERED if decision == UNANSWERED else ActionStatus.UNKNOWN


def _answered_status(action: Action) -> ActionStatus:
    """Returns the status according to the client's answers."""
    outcomes = {request.outcome for request in action.requests}
    if "result" in outcomes:
        is_ended = action.exit_code is not None or action.exit_signal is not None
        is_running = action.kind is ActionKind.RUN and not is_ended
        return ActionStatus.STARTED if is_running else ActionStatus.DONE
    if "unanswered" in outcomes:
        return ActionStatus.UNANSWERED
    return ActionStatus.FAILED if "error" in outcomes else ActionStatus.CANCELLED


def _name_alike(actions: list[Action]) -> None:
    """Links claimed actions with those of the client that may be the same action."""
    done: dict[_Key, list[Action]] = {}
    for action in actions:
        if action.source is Source.CLIENT:
            for key in _keys(action):
                done.setdefault(key, []).append(action)
    for action in actions:
        if action.source is Source.CLAIMED and action.may_have_happened:
            found = (one for key in _keys(action) for one in done.get(key, ())[:_MOST_ALIKE])
            same = {one.id: one for one in found}
            for one in [*same.values()][:_MOST_ALIKE]:
                action.perhaps_same_as.append(one.id)
                if len(one.perhaps_same_as) < _MOST_ALIKE:
                    one.perhaps_same_as.append(action.id)


def _keys(action: Action) -> set[_Key]:
    """Returns keys of an action; two actions that have a key in common may be the same."""
    if action.kind is ActionKind.RUN:
        about = {normal_command(action.command or action.title)} - {""}
    else:
        about = {path.shown for path in action.paths}
    return {(action.session, action.turn, action.kind, text) for text in about}
