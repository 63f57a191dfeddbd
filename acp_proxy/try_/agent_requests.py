"""Answers an agent's requests for permissions, for files in one directory, and for terminals.

A file is written, or a command is started, only if the user allows it. It is not enough to refuse
permissions: in ACP an agent may write a file or run a command without asking.
"""

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any

import trio
from attrs import define, field, frozen

from acp_proxy.base.plain_files import reason
from acp_proxy.playback.verify.composer import cancellation, denial
from acp_proxy.protocol.dialects import DRAFT, PERMISSION, V1
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.permissions import is_draft, options_of, unambiguous
from acp_proxy.try_.agent_connection import INVALID_PARAMS, METHOD_NOT_FOUND, RequestError
from acp_proxy.try_.running_command import RunningCommand
from acp_proxy.try_.work_files import WorkFiles

NOT_FOUND = -32002
"""The error code of a missing file in v1 (error.mdx, "Resource not found")."""
_READ, _WRITE, _CREATE = "fs/read_text_file", "fs/write_text_file", "terminal/create"
_WAIT = "terminal/wait_for_exit"
_OF_TERMINAL: dict[str, Callable[[RunningCommand], dict[str, Any] | None]] = {
    _WAIT: RunningCommand.exit_status,
    "terminal/output": RunningCommand.output,
    "terminal/kill": RunningCommand.kill,
    "terminal/release": RunningCommand.release,
}
"""For each method about a terminal, the function that serves it and returns the result."""
_ALLOWING = ("allow_once", "allow_always")
_DRAFT_OPTIONS = [{"name": "Allow", "kind": "allow_once"}, {"name": "Reject"}]


class Policy(StrEnum):
    """Who decides what an agent may do."""

    ALLOW = "allow"
    """The agent may do whatever it asks for."""
    REJECT = "reject"
    """The agent may only read files of the directory."""
    ASK = "ask"
    """The user is asked about each request, except requests to read a file."""


@frozen
class ConsentQuestion:
    """Asks the user whether a request of the agent is allowed.

    Attributes:
        method: the method of the agent's request.
        message: the whole request, decoded.
        options: the answers to choose from; the user may also choose none of them.
    """

    method: str
    message: Any
    options: Sequence[str]


Ask = Callable[[ConsentQuestion], Awaitable[int | None]]
"""Asks the user, and returns the index of the chosen option; None if nothing was chosen."""


@define(eq=False)
class AgentRequests:
    """Answers the requests of one agent.

    Args:
        policy: who decides what the agent may do.
        ask: asks the user; only called with `Policy.ASK`.
        root: the directory in which the agent may read and write files, and run commands.
        nursery: runs a task for each command; when the nursery is cancelled, the commands are
            killed.

    Attributes:
        dialect: the dialect of the requests. The caller sets it after ``initialize``.
        is_cancelled: whether the turn was cancelled. If so, permissions are answered as cancelled,
            and the user is not asked. The caller sets it back at the end of the turn.
    """

    _policy: Policy
    _ask: Ask
    _files: WorkFiles = field(converter=WorkFiles, alias="root")
    _nursery: trio.Nursery
    dialect: str = field(init=False, default=V1)
    is_cancelled: bool = field(init=False, default=False)
    _terminals: dict[str, RunningCommand] = field(init=False, factory=dict)
    _open_questions: set[trio.CancelScope] = field(init=False, factory=set)
    _turn: trio.Lock = field(init=False, factory=trio.Lock)
    """Held while the user is asked, so that there is one question at a time."""

    @property
    def writes(self) -> bool:
        """Whether the client offers to write files and to run commands."""
        return self._policy is not Policy.REJECT

    @property
    def are_running(self) -> bool:
        """Whether a command of the agent is running."""
        return any(not command.ended.is_set() for command in self._terminals.values())

    def cancel(self) -> None:
        """Withdraws all questions of a cancelled turn: the open, the waiting and the later ones."""
        self.is_cancelled = True
        for scope in self._open_questions:
            scope.cancel()

    async def answer(self, method: str, message: Any) -> Any:
        """Returns the result that answers a request.

        Args:
            method: the method of the request.
            message: the whole request, decoded.

        Raises:
            RequestError: the request is refused, or cannot be answered.
        """
        try:
            return await self._serve(method, message, member(message, "params"))
        except OSError as e:
            is_missing = isinstance(e, FileNotFoundError) and method == _READ
            code, why = NOT_FOUND if is_missing else INVALID_PARAMS, reason(e)
        except (TypeError, ValueError) as e:
            code, why = INVALID_PARAMS, str(e)
        raise RequestError(code, f"cannot serve {method}: {why}")

    async def _serve(self, method: str, message: Any, params: Any) -> Any:
        """Returns the result that answers a request.

        Raises:
            OSError, TypeError, ValueError: the params break the protocol, or their file, command
                or terminal cannot be used.
            RequestError: the request is refused.
        """
        if not isinstance(params, dict):
            raise TypeError("expected params as an object")
        if method == PERMISSION:
            return await self._permission(message)
        if method == _READ:
            return self._read(params)
        if self.writes and method == _WRITE:
            return await self._write(message, params)
        if self.writes and self.dialect != DRAFT:
            if method == _CREATE:
                return await self._run(message, params)
            if method in _OF_TERMINAL:
                terminal = self._terminals.get(name := str(params.get("terminalId")))
                if terminal is None or terminal.life.cancel_called:
                    raise ValueError(f"there is no terminal {name}")
                if method == _WAIT:
                    await terminal.ended.wait()
                return _OF_TERMINAL[method](terminal) or {}
        raise RequestError(METHOD_NOT_FOUND, f"this client does not offer {method}")

    async def _permission(self, message: Any) -> dict[str, Any]:
        if self._policy is Policy.REJECT:
            return denial(message)
        if self.is_cancelled:
            return cancellation(message)
        options = _DRAFT_OPTIONS if is_draft(message) else unambiguous(options_of(message))
        if self._policy is Policy.ALLOW:
            kinds = [option.get("kind") for option in options]
            index = next((kinds.index(kind) for kind in _ALLOWING if kind in kinds), None)
        else:
            names = [str(option.get("name") or option["optionId"]) for option in options]
            index = await self._asked(PERMISSION, message, names)
        if index is None:
            return cancellation(message)
        if is_draft(message):
            return {"granted": index == 0}
        return {"outcome": {"outcome": "selected", "optionId": options[index]["optionId"]}}

    def _read(self, params: dict[str, Any]) -> dict[str, Any]:
        is_draft = self.dialect == DRAFT
        first = _number(params.get("startLine" if is_draft else "line")) or 1
        most = _number(params.get("endLine" if is_draft else "limit"))
        if is_draft and most is not None:
            most += 1 - first
        text = self._files.read(params.get("path"), first, most)
        return {"content": text, "encoding": "utf-8"} if is_draft else {"content": text}

    async def _write(self, message: Any, params: dict[str, Any]) -> dict[str, Any]:
        self._files.place(params.get("path"))  # no question about a path outside the directory
        await self._allowed(_WRITE, message)
        text = params.get("content")
        is_new = self._files.write(params.get("path"), text)
        if self.dialect == DRAFT:
            return {"bytesWritten": len(str(text).encode()), "created": is_new}
        return {}

    async def _run(self, message: Any, params: dict[str, Any]) -> dict[str, Any]:
        command = RunningCommand(params, self._files.place(params.get("cwd") or "."))
        await self._allowed(_CREATE, message)
        await self._nursery.start(command.run)
        name = f"terminal-{len(self._terminals) + 1}"
        self._terminals[name] = command
        return {"terminalId": name}

    async def _allowed(self, method: str, message: Any) -> None:
        """If the policy is `Policy.ASK`, asks the user whether a request is allowed.

        Raises:
            RequestError: the user refuses the request.
        """
        if self._policy is Policy.ASK and await self._asked(method, message, ("Yes", "No")) != 0:
            raise RequestError(INVALID_PARAMS, "the user has refused this")

    async def _asked(self, method: str, message: Any, options: Sequence[str]) -> int | None:
        """Returns the index of the option that the user chose.

        Returns None if the user chose no option, or if the turn was cancelled before the user
        chose. An agent may send its request before it has read that the turn was cancelled.
        """
        if self.is_cancelled:
            return None
        with trio.CancelScope() as scope:
            self._open_questions.add(scope)
            try:
                async with self._turn:
                    return await self._ask(ConsentQuestion(method, message, options))
            finally:
                self._open_questions.remove(scope)
        return None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
