"""Combines all messages about an action of the agent into one value.

A tool call and the requests to the client that carry it out are one action. A request belongs to a
tool call if the request or its answer names the tool call or its terminal, or if this is the only
open tool call of the turn with the same path or command. Otherwise, the request and the tool call
are two actions. If they may be the same, each action names the other.
A request to the client is trusted more than the agent's own description of the action.
"""

from collections.abc import Iterable
from copy import copy
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from acp_proxy.base.limits import KEPT_ACTIONS, LONG_LIST, PARTS, REMEMBERED_CALLS
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
from acp_proxy.explain.audit.statements import Statement, normal_command
from acp_proxy.explain.describe.phrases import Value, part, word
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.connection_state import Exchange

_CANDIDATES = 100
"""Only this number of open tool calls, the latest, are compared with a request."""


class Moment(NamedTuple):
    """The number, time, session and turn of a message."""

    seq: int
    t_ns: int
    session: str | None
    turn: int | None


class ActionLog:
    """Collects the actions of a recording while it is read.

    Args:
        connection: the state machine, which knows which tool calls are open.
        sessions: the directories of the sessions.
        started_at: the start of the recording.

    Attributes:
        actions: the actions in the order in which they began; an action with `is_absorbed` is part
            of another action.
        left_out: the number of actions that were not kept, since there were too many.
        permissions: the permission requests.
    """

    def __init__(self, connection: Connection, sessions: SessionLog, started_at: datetime) -> None:
        self.actions: list[Action] = []
        self.left_out = 0
        self.permissions = PermissionLog()
        self._connection = connection
        self._sessions = sessions
        self._started_at = started_at
        self._calls: dict[tuple[str | None, str], Action] = {}
        self._terminals: dict[tuple[str | None, str], Action] = {}
        self._open: dict[int, tuple[Action, AuditedRequest]] = {}

    def take_update(
        self, moment: Moment, call: str, update: Value, *, begins: bool = False
    ) -> None:
        """Adds a session update about a tool call.

        Args:
            moment: the moment of the update.
            call: the id of the tool call.
            update: the members of the update.
            begins: whether the update begins a new tool call with this id.
        """
        said = statements.of_call(update)
        action = self._call(moment, call, said, begins=begins)
        if action is not None:
            self._apply(action, said, moment)

    def take_terminal(self, moment: Moment, update: Value) -> None:
        """Adds a ``terminal_update`` about a terminal that the agent runs itself (v2).

        Args:
            moment: the moment of the update.
            update: the members of the update.
        """
        said = statements.of_terminal(update)
        action = self._terminals.get((moment.session, said.terminals[0]))
        if action is None:
            action = self._begin(moment, ActionKind.RUN)
        if action is not None:
            self._apply(action, said, moment)

    def take_request(self, moment: Moment, exchange: Exchange, params: Value) -> Action | None:
        """Adds a request that asks the client to do something.

        Args:
            moment: the moment of the request.
            exchange: the exchange of the request.
            params: the params of the request.

        Returns:
            The action of the request; None if it is not kept, since there are too many actions.
        """
        said = statements.of_request(exchange.method or "", params)
        probe = self._probe(moment, said)
        call = self._calls.get((moment.session, exchange.tool_call or ""))
        if call is not None:
            action = call if _may_be_part(probe, call) else None
        else:
            action = self._open_action_like(probe)
        if action is None or len(action.requests) == LONG_LIST:
            action = self._begin(moment, probe.kind)
            if action is None:
                return None
            if call is not None:
                _name_call(action, call)
            else:
                self._compare_with_permissions(action, probe)
        request = AuditedRequest(moment.seq, exchange.method or "")
        request.paths = probe.paths
        action.requests.append(request)
        self._take_over(action, probe)
        self._open[exchange.id] = action, request
        return action

    def take_permission(
        self, moment: Moment, exchange: Exchange, params: Value, *, begins: bool
    ) -> Action | None:
        """Adds a permission request.

        Args:
            moment: the moment of the request.
            exchange: the exchange of the request.
            params: the params of the request.
            begins: whether the request begins a new tool call with an id that was used before.

        Returns:
            The action that needs the permission; None if it is not kept, since there are too many.
        """
        self.permissions.any_asked = True
        said = statements.of_permission(params)
        title = said.title
        call = exchange.tool_call
        if call is not None:
            action = self._call(moment, call, said, begins=begins)
        else:
            action = self._open_action_like(self._probe(moment, said))
            action = action or self._begin(moment, said.kind or ActionKind.OTHER)
        if action is None:
            return None
        said.title = action.title or title
        self._apply(action, said, moment)
        self.permissions.ask(exchange, action, cut(title or action.title or ""), params)
        return action

    def take_answer(self, moment: Moment, exchange: Exchange, message: Value) -> None:
        """Adds an answer of the client.

        Args:
            moment: the moment of the answer.
            exchange: the exchange of the answer.
            message: the whole answer.
        """
        self.permissions.answer(exchange, moment.seq, message)
        result = part(message, "result")
        if (pending := self._open.pop(exchange.id, None)) is not None:
            action, request = pending
            request.answer_seq, request.outcome = moment.seq, exchange.outcome
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

    def _call(self, moment: Moment, call: str, said: Statement, *, begins: bool) -> Action | None:
        """Returns the action of a tool call; the first message about it creates the action."""
        action = self._calls.get((moment.session, call))
        if action is None or begins:
            action = self._begin(moment, said.kind or ActionKind.OTHER)
            if action is not None:
                action.tool_call = call
                self._calls[moment.session, call] = action
        return action

    def _begin(self, moment: Moment, kind: ActionKind) -> Action | None:
        if len(self.actions) == KEPT_ACTIONS:
            self.left_out += 1
            return None
        known = self._connection.state.sessions.get(moment.session or "")
        at = self._started_at + timedelta(microseconds=moment.t_ns // 1000)
        action = Action(
            id=len(self.actions) + 1,
            seq=moment.seq,
            t_ns=moment.t_ns,
            at=at.isoformat(timespec="milliseconds"),
            session=moment.session,
            turn=moment.turn,
            mode=None if known is None else known.mode,
            kind=kind,
        )
        action.directories = self._sessions.directories(moment.session)
        self.actions.append(action)
        return action

    def _probe(self, moment: Moment, said: Statement) -> Action:
        """Returns an action that is only compared with other actions, and is not kept."""
        probe = Action(0, moment.seq, 0, "", moment.session, moment.turn, None, ActionKind.OTHER)
        self._apply(probe, said, moment)
        return probe

    def _apply(self, action: Action, said: Statement, moment: Moment) -> None:
        """Adds the facts of a message to an action; keeps facts that came from a client request."""
        directories = self._sessions.directories(moment.session)
        action.call.take_status(cut(said.status or ""), moment.seq)
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
        """Replaces the agent's description of an action by the request to the client."""
        action.kind = probe.kind
        action.tool = action.tool or probe.tool
        action.title = action.title or probe.title
        action.command = probe.command or action.command
        action.directory = probe.directory or action.directory
        _add_paths(action, probe.paths)

    def _join_terminal(self, action: Action, terminal: str) -> None:
        """Merges the action that created a terminal into the tool call that shows it."""
        creating = self._terminals.get((action.session, terminal))
        if creating is None or creating is action:
            if action.id:
                action.terminal = terminal
                self._keep_terminal(terminal, action)
            return
        if creating.tool_call is not None or action.tool_call is None:
            return
        if action.requests and not is_alike(action, creating):  # another command of the same call
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
        """Returns the only open action of the turn about the same file or command.

        The result is None if there is no such action, or more than one.
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
        """Compares a request that names no tool call with the permission requests of its turn."""
        asked = self.permissions.asked_in(probe.session, probe.turn)
        if probe.kind is ActionKind.READ:
            near = [
                candidate.tool_call
                for candidate in self._candidates(probe)
                if _share_path(candidate, probe)
            ]
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


def is_alike(action: Action, other: Action) -> bool:
    """Whether two actions are about the same file or the same command.

    Args:
        action: an action; its kind may be unknown.
        other: another action.
    """
    if action.kind not in (other.kind, ActionKind.OTHER):
        return False
    if other.kind is ActionKind.RUN:
        command = normal_command(other.command)
        return bool(command) and command in map(normal_command, (action.command, action.title))
    return _share_path(action, other)


def _may_be_part(probe: Action, call: Action) -> bool:
    """Whether a request may carry out the tool call that it names."""
    if probe.kind is ActionKind.RUN and call.requests:
        return is_alike(call, probe)
    return call.kind is probe.kind or (call.kind is ActionKind.OTHER and not call.requests)


def _name_call(action: Action, call: Action) -> None:
    """Gives an action the tool call of another action, and the permissions of that tool call."""
    action.tool_call = call.tool_call
    if action.kind in ASKED_FOR:
        action.permissions = [*call.permissions]


def _share_path(action: Action, other: Action) -> bool:
    return not {path.shown for path in action.paths}.isdisjoint(path.shown for path in other.paths)


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
