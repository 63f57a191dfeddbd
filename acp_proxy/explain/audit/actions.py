"""Combines all messages about an action of the agent into one value.

A tool call and the requests to the client that carry it out are one action. A request belongs to a
tool call if the request or its answer names the call or the call's terminal. Otherwise, the request
belongs to the open call of the turn with the same path or command, if there is exactly one.

A request that belongs to no call is an action of its own. It is linked to the actions that it may
be part of. Facts in a request replace the agent's description of the action.
"""

from collections.abc import Iterable
from copy import copy
from datetime import timedelta
from typing import Any

from acp_proxy.base.limits import KEPT_ACTIONS, LINE_EDGE, LONG_LIST, PARTS, REMEMBERED_CALLS
from acp_proxy.explain.audit import statements
from acp_proxy.explain.audit.audit_values import (
    ASKED_FOR,
    Action,
    ActionKind,
    AuditedPath,
    AuditedRequest,
)
from acp_proxy.explain.audit.paths import cut, locate
from acp_proxy.explain.audit.permission_log import PermissionLog, is_refused
from acp_proxy.explain.audit.session_directories import SessionLog
from acp_proxy.explain.audit.statements import Statement, is_alike, share_path
from acp_proxy.explain.describe.phrases import Value, message_of, part, word
from acp_proxy.explain.message_pass import Listener, MessagePass, messages_of
from acp_proxy.explain.observed_faults import FaultEffects
from acp_proxy.explain.show.chosen_messages import read_messages
from acp_proxy.protocol.connection_state import Exchange, Transition
from acp_proxy.protocol.dialects import FORK, OPENING, PERMISSION
from acp_proxy.protocol.effects import ClientEffect, effect_of
from acp_proxy.protocol.jsonrpc import Direction, Kind, Message
from acp_proxy.protocol.updates import CONTENT_CHUNK, UPDATE, kind_and_update
from acp_proxy.recording.recording import FrameRun, read_time
from acp_proxy.store.reader import RecordingReader

_CANDIDATES = 100
"""The largest number of open tool calls that are compared with a request."""
_OF_TERMINALS = ("terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release")
_HARMLESS = (ClientEffect.ASKS, ClientEffect.INFORMS)


class ActionLog(Listener):
    """Collects the sessions and the actions of a recording while it is read.

    Args:
        reader: the recording.
        messages: the pass over the recording.

    Attributes:
        actions: the actions in the order in which they began. An action with `is_absorbed` is part
            of another action.
        left_out: the number of further actions, which are not kept.
        sessions: the log of the sessions with their directories.
        permissions: the log of the permission requests.
    """

    def __init__(self, reader: RecordingReader, messages: MessagePass) -> None:
        self.actions: list[Action] = []
        self.left_out = 0
        self.sessions = SessionLog()
        self.permissions = PermissionLog()
        self._reader, self._messages = reader, messages
        self._connection = messages.connection
        self._made_up = FaultEffects(reader, messages.events).injected
        self._started_at = read_time(reader.recording.started_at)
        self._calls: dict[tuple[str | None, str], Action] = {}
        self._terminals: dict[tuple[str | None, str], Action] = {}
        self._open: dict[int, tuple[Action, AuditedRequest]] = {}

    def take(self, run: FrameRun, message: Message, transition: Transition) -> None:
        """Reads the next frame, or the next run of frames that are pieces of one message.

        Args:
            run: the frame, or the run of frames.
            message: the message of the first frame.
            transition: the changes that this message made to the state of the connection.
        """
        if run.kind != "stderr":
            for member, change in messages_of(message, transition):
                self._take(run, member, change)

    def _take(self, run: FrameRun, message: Message, change: Transition) -> None:
        is_agents = run.stream == Direction.TO_CLIENT
        if message.kind is Kind.NOTIFICATION:
            if message.method == UPDATE and is_agents:
                self._take_update(run, message, change)
        elif (asked := change.opened) is not None:
            if is_agents:
                self._take_asked(run, message, change, asked)
            elif message.method in OPENING:
                session = None if message.method == FORK else change.session
                params = part(self._value(run, message), "params")
                self.sessions.asked(asked.id, run.seq, session, params)
        elif (exchange := change.answered) is not None:
            if not is_agents:
                self._take_answer(run, exchange, self._value(run, message))
            elif exchange.method in OPENING:
                is_result = message.kind is Kind.RESPONSE
                result = part(self._value(run, message), "result") if is_result else None
                self.sessions.answered(exchange.id, change.session, result)

    def _value(self, run: FrameRun, message: Message) -> Value:
        """Decodes a message; of a very large message, only the beginning."""
        if message.raw is not None:
            return message_of(message.raw)
        stored = next(read_messages(self._reader, [run.seq], LINE_EDGE), None)
        return {} if stored is None else stored.message

    def _take_update(self, run: FrameRun, message: Message, change: Transition) -> None:
        """Notes an update about a tool call or, in v2, about a terminal that the agent runs."""
        is_terminal = message.update == "terminal_update" and message.terminal is not None
        if change.tool_call is None and not is_terminal:
            return
        if change.turn is None and self._messages.is_history(run.seq, change.session):
            return
        _, update = kind_and_update(part(self._value(run, message), "params"))
        if change.tool_call is None:
            said = statements.of_terminal(update)
            action = self._terminals.get((change.session, said.terminals[0]))
            action = action or self._begin(run, change, ActionKind.RUN)
        else:
            if message.update == CONTENT_CHUNK:
                update = {"content": [update.get("content")]}
            said = statements.of_call(update)
            action = self._call(run, change, change.tool_call, said)
        if action is not None:
            self._apply(action, said, run.seq)

    def _take_asked(
        self, run: FrameRun, message: Message, change: Transition, exchange: Exchange
    ) -> None:
        """Notes a request that the agent sent to its client."""
        method = message.method or ""
        if method in _OF_TERMINALS:
            return
        params, action = part(self._value(run, message), "params"), None
        if method == PERMISSION:
            action = self._take_permission(run, change, exchange, params)
        elif effect_of(method, self._connection.dialect) not in _HARMLESS:
            action = self._take_request(run, change, exchange, params)
        if action is not None and run.seq in self._made_up:
            action.not_from_agent = True

    def _take_request(
        self, run: FrameRun, change: Transition, exchange: Exchange, params: Value
    ) -> Action | None:
        """Notes a request that the agent sent to its client, other than a permission request.

        Returns the action of the request; None if the limit of kept actions is reached.
        """
        said = statements.of_request(exchange.method or "", params)
        probe = self._probe(run, change, said)
        call = self._calls.get((change.session, exchange.tool_call or ""))
        if call is not None:
            action = call if _may_be_part(probe, call) else None
        else:
            action = self._open_action_like(probe)
        if action is None or len(action.requests) == LONG_LIST:
            action = self._begin(run, change, probe.kind)
            if action is None:
                return None
            if call is not None:
                _name_call(action, call)
            else:
                self._compare_with_permissions(action, probe)
        request = AuditedRequest(run.seq, exchange.method or "")
        request.paths = probe.paths
        action.requests.append(request)
        self._take_over(action, probe)
        self._open[exchange.id] = action, request
        return action

    def _take_permission(
        self, run: FrameRun, change: Transition, exchange: Exchange, params: Value
    ) -> Action | None:
        """Notes a permission request of the agent.

        Returns the action that needs the permission; None if the limit of kept actions is reached.
        """
        self.permissions.any_asked = True
        said = statements.of_permission(params)
        title = said.title
        call = exchange.tool_call
        if call is not None:
            action = self._call(run, change, call, said)
        else:
            action = self._open_action_like(self._probe(run, change, said))
            action = action or self._begin(run, change, said.kind or ActionKind.OTHER)
        if action is None:
            return None
        said.title = action.title or title
        self._apply(action, said, run.seq)
        self.permissions.ask(exchange, action, cut(title or action.title or ""), params)
        return action

    def _take_answer(self, run: FrameRun, exchange: Exchange, message: Value) -> None:
        """Notes the client's answer to a request of the agent."""
        self.permissions.answer(exchange, run.seq, message)
        result = part(message, "result")
        if (pending := self._open.pop(exchange.id, None)) is not None:
            action, request = pending
            request.answer_seq, request.outcome = run.seq, exchange.outcome
            if (error := message.get("error")) is not None:
                request.error = cut(_error_text(error))
            terminal = word(result, "terminalId")
            if terminal and exchange.method == "terminal/create":
                action.terminal = terminal
                self._keep_terminal(terminal, action)
        elif (exchange.method or "").startswith("terminal/"):
            ended = self._terminals.get((exchange.session, exchange.terminal or ""))
            if ended is not None:
                said = Statement()
                statements.read_exit(said, result)
                statements.read_exit(said, part(result, "exitStatus"))
                _apply_exit(ended, said)

    def _call(self, run: FrameRun, change: Transition, call: str, said: Statement) -> Action | None:
        """Returns the action of a tool call; the first message about the call creates it."""
        action = self._calls.get((change.session, call))
        if action is None or change.begins_call:
            action = self._begin(run, change, said.kind or ActionKind.OTHER)
            if action is not None:
                action.tool_call = call
                self._calls[change.session, call] = action
        return action

    def _begin(self, run: FrameRun, change: Transition, kind: ActionKind) -> Action | None:
        if len(self.actions) == KEPT_ACTIONS:
            self.left_out += 1
            return None
        known = self._connection.state.sessions.get(change.session or "")
        at = self._started_at + timedelta(microseconds=run.t_ns // 1000)
        action = Action(
            id=len(self.actions) + 1,
            seq=run.seq,
            t_ns=run.t_ns,
            at=at.isoformat(timespec="milliseconds"),
            session=change.session,
            turn=change.turn,
            mode=None if known is None else known.mode,
            kind=kind,
        )
        action.directories = self.sessions.directories(change.session)
        self.actions.append(action)
        return action

    def _probe(self, run: FrameRun, change: Transition, said: Statement) -> Action:
        """Returns a temporary action with the facts of one message, for comparisons."""
        probe = Action(0, run.seq, 0, "", change.session, change.turn, None, ActionKind.OTHER)
        self._apply(probe, said, run.seq)
        return probe

    def _apply(self, action: Action, said: Statement, seq: int) -> None:
        """Adds the facts of a message to an action.

        If a request to the client carries out the action, the facts in the request take precedence.
        """
        directories = self.sessions.directories(action.session)
        action.call.take_status(cut(said.status or ""), seq)
        action.title = cut(said.title) if said.title is not None else action.title
        action.tool = cut(said.tool) if said.tool is not None else action.tool
        _add_paths(action, (locate(path, directories, operation) for path, operation in said.paths))
        action.url = cut(said.url) if said.url is not None else action.url
        _apply_exit(action, said)
        if not action.requests:
            if said.kind not in (None, ActionKind.OTHER):
                action.kind = said.kind
            if said.command is not None:
                action.command = cut(said.command)
            if said.directory is not None:
                action.directory = locate(said.directory, directories)
        for terminal in said.terminals:
            self._join_terminal(action, terminal)

    def _take_over(self, action: Action, probe: Action) -> None:
        """Copies the facts in a request into the action that this request is part of."""
        action.kind = probe.kind
        action.tool = action.tool or probe.tool
        action.title = action.title or probe.title
        action.command = probe.command or action.command
        action.directory = probe.directory or action.directory
        _add_paths(action, probe.paths)

    def _join_terminal(self, action: Action, terminal: str) -> None:
        """Merges the request that created a terminal with the tool call that shows the terminal."""
        creating = self._terminals.get((action.session, terminal))
        if creating is None or creating is action:
            if action.id:
                action.terminal = terminal
                self._keep_terminal(terminal, action)
            return
        if creating.tool_call is not None or action.tool_call is None:
            return
        if action.requests and not is_alike(action, creating):  # a second command of the tool call
            _name_call(creating, action)
            return
        action.requests += creating.requests
        action.permissions += creating.permissions
        action.seq, action.t_ns, action.at = min(
            (start.seq, start.t_ns, start.at) for start in (action, creating)
        )
        self._take_over(action, creating)
        action.kind, action.terminal = ActionKind.RUN, terminal
        action.exit_code, action.exit_signal = creating.exit_code, creating.exit_signal
        creating.is_absorbed = True
        self._keep_terminal(terminal, action)

    def _keep_terminal(self, terminal: str, action: Action) -> None:
        self._terminals[action.session, terminal] = action
        if len(self._terminals) > REMEMBERED_CALLS:
            del self._terminals[next(iter(self._terminals))]

    def _open_action_like(self, probe: Action) -> Action | None:
        """Returns the only open action of the turn that is about the file or command of a request.

        None if there is no such action, or if there are several.
        """
        alike = {
            candidate.id: candidate
            for candidate in self._candidates(probe)
            if not candidate.call.is_over
            and not is_refused(candidate)
            and is_alike(candidate, probe)
        }
        return next(iter(alike.values())) if len(alike) == 1 else None

    def _candidates(self, probe: Action) -> Iterable[Action]:
        names = [*self._connection.open_calls(probe.session)][-_CANDIDATES:]
        calls = [self._calls.get((probe.session, name)) for name in names]
        asked = self.permissions.asked_in(probe.session, probe.turn)
        return (a for a in (*calls, *asked) if a is not None and a.turn == probe.turn)

    def _compare_with_permissions(self, action: Action, probe: Action) -> None:
        """Notes which permission request of the turn may also cover an action that asked for none.

        For a read, notes a tool call instead: the only call of the turn with a path of the action.
        """
        asked = self.permissions.asked_in(probe.session, probe.turn)
        if probe.kind is ActionKind.READ:
            near = [call.tool_call for call in self._candidates(probe) if share_path(call, probe)]
            action.tool_call = near[0] if len(set(near)) == 1 else None
            return
        if alike := [candidate for candidate in asked if is_alike(candidate, probe)]:
            action.same_asked = copy(alike[-1].permissions[-1])
            return
        granted = [
            candidate
            for candidate in asked
            if candidate.kind is probe.kind
            and candidate.permissions[-1].decision == "granted"
            and not candidate.requests
            and not candidate.call.is_over
        ]
        if len(granted) == 1 and (granted[0].paths or granted[0].command):
            action.instead_of = granted[0]


def _may_be_part(probe: Action, call: Action) -> bool:
    """Whether a request that names a tool call may be a part of this tool call."""
    if probe.kind is ActionKind.RUN and call.requests:
        return is_alike(call, probe)
    return call.kind is probe.kind or (call.kind is ActionKind.OTHER and not call.requests)


def _name_call(action: Action, call: Action) -> None:
    """Copies a call's id into an action.

    Also copies the call's permissions if the action's kind is in `ASKED_FOR`.
    """
    action.tool_call = call.tool_call
    if action.kind in ASKED_FOR:
        action.permissions = [*call.permissions]


def _add_paths(action: Action, paths: Iterable[AuditedPath]) -> None:
    for path in paths:
        known = next((n for n, old in enumerate(action.paths) if old.shown == path.shown), None)
        if known is None:
            if len(action.paths) < PARTS:
                action.paths.append(path)
        elif path.operation is not None:
            action.paths[known] = path


def _apply_exit(action: Action, said: Statement) -> None:
    if said.exit_code is not None:
        action.exit_code = said.exit_code
    if said.exit_signal is not None:
        action.exit_signal = cut(said.exit_signal)


def _error_text(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    return " ".join(filter(None, (word(error, "code"), word(error, "message"))))
