"""Audits a recording: lists the agent's actions, their places, and the permissions for them.

One pass reads all frames; the outcome of each action is decided after the pass.
"""

from collections import Counter

from acp_proxy.base.limits import LINE_EDGE, SHORT_LIST
from acp_proxy.explain.audit.actions import ActionLog, Moment
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
from acp_proxy.explain.audit.session_directories import SessionLog
from acp_proxy.explain.audit.statements import normal_command
from acp_proxy.explain.describe.phrases import Value, message_of, part
from acp_proxy.explain.message_pass import PAUSE_NS, Listener, MessagePass, Watch, messages_of
from acp_proxy.explain.observed_faults import FaultEffects
from acp_proxy.explain.show.chosen_messages import read_messages
from acp_proxy.protocol.connection_state import Transition
from acp_proxy.protocol.dialects import FORK, OPENING, PERMISSION
from acp_proxy.protocol.effects import ClientEffect, effect_of
from acp_proxy.protocol.jsonrpc import Kind, Message
from acp_proxy.protocol.permissions import DENIED
from acp_proxy.protocol.updates import CONTENT_CHUNK, UPDATE, kind_and_update
from acp_proxy.recording.filters import EVERYTHING, Filter
from acp_proxy.recording.recording import FrameRun, read_time
from acp_proxy.store.reader import RecordingReader

_SAID = {
    "completed": ActionStatus.DONE,
    "cancelled": ActionStatus.CANCELLED,
    "denied": ActionStatus.REFUSED,
}
_Key = tuple[str | None, int | None, ActionKind, str]


def finish(log: ActionLog) -> list[Action]:
    """Completes all actions and returns them in the order in which they began."""
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
    """Returns the status of an action, which the client's answers decide."""
    outcomes = {request.outcome for request in action.requests}
    if "result" in outcomes:
        is_ended = action.exit_code is not None or action.exit_signal is not None
        is_running = action.kind is ActionKind.RUN and not is_ended
        return ActionStatus.STARTED if is_running else ActionStatus.DONE
    if "unanswered" in outcomes:
        return ActionStatus.UNANSWERED
    return ActionStatus.FAILED if "error" in outcomes else ActionStatus.CANCELLED


def _name_alike(actions: list[Action]) -> None:
    """Links each claimed action with the client's actions that may be the same action."""
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
    """Returns the keys of an action; two actions with a common key may be the same action."""
    if action.kind is ActionKind.RUN:
        about = {normal_command(action.command or action.title)} - {""}
    else:
        about = {path.shown for path in action.paths}
    return {(action.session, action.turn, action.kind, text) for text in about}


_TO_CLIENT = "to-client"
_TERMINAL_UPDATE = "terminal_update"
_ABOUT_TERMINALS = (
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
)
_HARMLESS = (ClientEffect.ASKS, ClientEffect.INFORMS)


class AuditPass(Listener):
    """Collects the sessions and the actions of a recording.

    Args:
        reader: the recording.
        messages: the pass over the recording.

    Attributes:
        sessions: the sessions; complete when the pass is over.
        log: the actions; complete when the pass is over.
    """

    def __init__(self, reader: RecordingReader, messages: MessagePass) -> None:
        self._reader = reader
        self._made_up = FaultEffects(reader, messages.events).injected
        self._messages = messages
        self._connection = self._messages.connection
        self.sessions = SessionLog()
        started_at = read_time(reader.recording.started_at)
        self.log = ActionLog(self._connection, self.sessions, started_at)

    def take(self, run: FrameRun, message: Message, transition: Transition) -> None:
        """Adds a frame, or a run of pieces of a message.

        Args:
            run: the frame, or the run of frames.
            message: the message of the first frame.
            transition: the changes that this message made.
        """
        if run.kind == "stderr":
            return
        for member, change in messages_of(message, transition):
            self._take(run, member, change)

    def _take(self, run: FrameRun, message: Message, transition: Transition) -> None:
        if message.kind is Kind.NOTIFICATION:
            if message.method == UPDATE and run.stream == _TO_CLIENT:
                self._take_update(run, message, transition)
        elif transition.opened is not None:
            if run.stream == _TO_CLIENT:
                self._take_request(run, message, transition)
            elif message.method in OPENING:
                session = None if message.method == FORK else transition.session
                params = part(self._value(run, message), "params")
                self.sessions.asked(transition.opened.id, run.seq, session, params)
        elif (exchange := transition.answered) is not None:
            if run.stream != _TO_CLIENT:
                value = self._value(run, message)
                self.log.take_answer(_moment(run, transition), exchange, value)
            elif exchange.method in OPENING:
                is_result = message.kind is Kind.RESPONSE
                result = part(self._value(run, message), "result") if is_result else None
                self.sessions.answered(exchange.id, transition.session, result)

    def _take_update(self, run: FrameRun, message: Message, transition: Transition) -> None:
        is_terminal = message.update == _TERMINAL_UPDATE and message.terminal is not None
        if transition.tool_call is None and not is_terminal:
            return
        if transition.turn is None and self._messages.is_history(run.seq, transition.session):
            return
        _, update = kind_and_update(part(self._value(run, message), "params"))
        moment = _moment(run, transition)
        if transition.tool_call is None:
            self.log.take_terminal(moment, update)
        else:
            if message.update == CONTENT_CHUNK:
                update = {"content": [update.get("content")]}
            self.log.take_update(
                moment, transition.tool_call, update, begins=transition.begins_call
            )

    def _take_request(self, run: FrameRun, message: Message, transition: Transition) -> None:
        exchange = transition.opened
        assert exchange is not None
        method = message.method or ""
        if method in _ABOUT_TERMINALS:
            return
        params, moment = part(self._value(run, message), "params"), _moment(run, transition)
        action = None
        if method == PERMISSION:
            begins = transition.begins_call
            action = self.log.take_permission(moment, exchange, params, begins=begins)
        elif effect_of(method, self._connection.dialect) not in _HARMLESS:
            action = self.log.take_request(moment, exchange, params)
        if action is not None and run.seq in self._made_up:
            action.not_from_agent = True

    def _value(self, run: FrameRun, message: Message) -> Value:
        """Decodes a message; of a very large message, only the beginning is read."""
        if message.raw is not None:
            return message_of(message.raw)
        stored = next(read_messages(self._reader, [run.seq], LINE_EDGE), None)
        return {} if stored is None else stored.message


def _moment(run: FrameRun, transition: Transition) -> Moment:
    return Moment(run.seq, run.t_ns, transition.session, transition.turn)


def audit(reader: RecordingReader, chosen: Filter = EVERYTHING, watch: Watch = iter) -> Audit:
    """Returns the actions of an agent, after one pass over the frames.

    Args:
        reader: the recording.
        chosen: a filter; an action is listed if any of its frames matches.
        watch: yields the runs of frames unchanged, and may show the progress.

    Raises:
        UnreadableRecording: the file is damaged, or locked.
    """
    messages = MessagePass(reader)
    reading = AuditPass(reader, messages)
    messages.play_to([reading], PAUSE_NS, watch)
    recording = reader.recording
    actions = finish(reading.log)
    if chosen is not EVERYTHING:
        actions = _matching(reader, actions, chosen)
    counts: dict[str, Counter[str]] = {}
    for action in actions:
        counts.setdefault(action.kind.value, Counter())[action.status.value] += 1
    asked = {id(permission): permission for action in actions for permission in action.permissions}
    findings = find(actions, asked=reading.log.permissions.any_asked)
    findings = [finding for finding in findings if recording.knows(*KINDS[finding.kind])]
    return Audit(
        recording=recording,
        path=str(reader.path),
        live=reader.live,
        agent_command=recording.words,
        sessions=[*reading.sessions.sessions.values()],
        actions=actions,
        counts={kind: dict(statuses) for kind, statuses in counts.items()},
        sources=dict(Counter(action.source.value for action in actions)),
        answers=dict(Counter(permission.decision for permission in asked.values())),
        findings=findings,
        left_out=reading.log.left_out,
    )


def _matching(reader: RecordingReader, actions: list[Action], chosen: Filter) -> list[Action]:
    """Returns the actions with a frame that matches a filter; the lines of frames are not read."""
    wanted = {seq for action in actions for seq in action.seqs}
    matching = {head.seq for head in reader.heads(chosen) if head.seq in wanted}
    return [action for action in actions if not matching.isdisjoint(action.seqs)]
