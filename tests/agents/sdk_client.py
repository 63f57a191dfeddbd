"""An ACP client on the official Python SDK that prints, as JSON, everything it received.

The client plays scenarios one after the other, and really serves files and terminals. Runs in
equal directories print the same bytes, since ``$CWD`` replaces the session's directory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import acp
from acp import schema
from acp.core import DEFAULT_STDIO_BUFFER_LIMIT_BYTES

from tests.agents.sdk_agent import wire_log

if TYPE_CHECKING:
    from acp.client.connection import ClientSideConnection

PERMISSIONS = ("allow", "reject", "cancel")
SHUTDOWN_S = 120.0
"""Seconds the agent has to exit after the end of its input, before it is terminated."""


class Terminal:
    """A running command, its output, and the task that reads the output."""

    def __init__(self, process: Process, limit: int | None) -> None:
        self.process = process
        self.output = b""
        self.truncated = False
        self._limit = limit
        self._collecting = asyncio.create_task(self._collect())

    @property
    def status(self) -> schema.TerminalExitStatus | None:
        """Returns how the command ended; None while it runs."""
        code = self.process.returncode
        if code is None:
            return None
        if code < 0:
            return schema.TerminalExitStatus(signal=signal.Signals(-code).name)
        return schema.TerminalExitStatus(exit_code=code)

    async def ended(self) -> schema.TerminalExitStatus:
        """Waits until the command has ended and its output is complete."""
        await self._collecting
        return cast("schema.TerminalExitStatus", self.status)

    def kill(self) -> None:
        """Kills the command if it runs."""
        if self.process.returncode is None:
            self.process.kill()

    async def _collect(self) -> None:
        stdout = cast("asyncio.StreamReader", self.process.stdout)
        while chunk := await stdout.read(65536):
            self.output += chunk
            if self._limit is not None and len(self.output) > self._limit:
                self.output = self.output[len(self.output) - self._limit :]
                self.truncated = True
        await self.process.wait()


class HeadlessClient:
    """The client's methods; each notes the agent's request and its answer in `seen`."""

    def __init__(self, cwd: Path, permission: str) -> None:
        self.seen: list[dict[str, Any]] = []
        self.chunks_until_cancel = -1
        self._cwd = cwd
        self._permission = permission
        self._terminals: dict[str, Terminal] = {}
        self._created = 0

    def on_connect(self, conn: acp.Agent) -> None:
        """Stores the connection to the agent, which a cancel needs."""
        self._agent = conn

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        """Notes an update; cancels the turn if `chunks_until_cancel` reaches 0."""
        said = update.model_dump(mode="json", by_alias=True, exclude_unset=True)
        self.seen.append({"update": said.pop("sessionUpdate"), **said})
        if isinstance(update, schema.AgentMessageChunk):
            self.chunks_until_cancel -= 1
            if self.chunks_until_cancel == 0:
                await self._agent.cancel(session_id)

    async def request_permission(
        self,
        session_id: str,
        tool_call: schema.ToolCallUpdate,
        options: list[schema.PermissionOption],
        **kwargs: Any,
    ) -> acp.RequestPermissionResponse:
        """Chooses the first option of the wanted kind; if there is none, cancels the turn."""
        fitting = [o.option_id for o in options if o.kind.startswith(self._permission)]
        asked = {"permission": tool_call.title, "options": [o.option_id for o in options]}
        self.seen.append({**asked, "answer": fitting[0] if fitting else "cancelled"})
        if fitting:
            allowed = schema.AllowedOutcome(outcome="selected", option_id=fitting[0])
            return acp.RequestPermissionResponse(outcome=allowed)
        await self._agent.cancel(session_id)
        return acp.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))

    async def read_text_file(
        self, path: str, line: int | None = None, limit: int | None = None, **kwargs: Any
    ) -> acp.ReadTextFileResponse:
        """Reads a file of the session's directory."""
        file = self._inside(path)
        if not file.is_file():
            raise acp.RequestError.resource_not_found(path)
        lines = file.read_bytes().decode().splitlines(keepends=True)
        start = (line or 1) - 1
        content = "".join(lines[start : None if limit is None else start + limit])
        self.seen.append({"read": path, "content": content})
        return acp.ReadTextFileResponse(content=content)

    async def write_text_file(
        self, path: str, content: str, **kwargs: Any
    ) -> acp.WriteTextFileResponse:
        """Writes a file of the session's directory."""
        self._inside(path).write_bytes(content.encode())
        self.seen.append({"write": path, "content": content})
        return acp.WriteTextFileResponse()

    async def create_terminal(
        self,
        command: str,
        args: list[str] | None = None,
        env: list[schema.EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **kwargs: Any,
    ) -> acp.CreateTerminalResponse:
        """Starts a command."""
        argv = [command, *(args or [])]
        where = self._inside(cwd) if cwd else self._cwd
        environment = {**os.environ, **{variable.name: variable.value for variable in env or []}}
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=where, env=environment, stdout=PIPE, stderr=STDOUT
        )
        self._created += 1
        terminal_id = f"terminal-{self._created}"
        self._terminals[terminal_id] = Terminal(process, output_byte_limit)
        self.seen.append({"terminal": terminal_id, "command": argv})
        return acp.CreateTerminalResponse(terminal_id=terminal_id)

    async def terminal_output(self, terminal_id: str, **kwargs: Any) -> acp.TerminalOutputResponse:
        """Returns the output of a command so far."""
        terminal = self._terminals[terminal_id]
        output = terminal.output.decode(errors="ignore")
        self.seen.append({"terminal": terminal_id, "output": output})
        return acp.TerminalOutputResponse(
            output=output, truncated=terminal.truncated, exit_status=terminal.status
        )

    async def wait_for_terminal_exit(
        self, terminal_id: str, **kwargs: Any
    ) -> acp.WaitForTerminalExitResponse:
        """Waits until a command has ended."""
        status = (await self._terminals[terminal_id].ended()).model_dump(exclude_unset=True)
        self.seen.append({"terminal": terminal_id, "exit": next(iter(status.values()))})
        return acp.WaitForTerminalExitResponse(**status)

    async def kill_terminal(self, terminal_id: str, **kwargs: Any) -> acp.KillTerminalResponse:
        """Kills a command."""
        self._terminals[terminal_id].kill()
        return acp.KillTerminalResponse()

    async def release_terminal(
        self, terminal_id: str, **kwargs: Any
    ) -> acp.ReleaseTerminalResponse:
        """Forgets a command and its output."""
        terminal = self._terminals.pop(terminal_id)
        terminal.kill()
        await terminal.ended()
        self.seen.append({"terminal": terminal_id, "released": True})
        return acp.ReleaseTerminalResponse()

    def _inside(self, path: str) -> Path:
        if not Path(path).resolve().is_relative_to(self._cwd):
            raise acp.RequestError.invalid_params({"details": f"{path} is outside {self._cwd}"})
        return Path(path)


class Player:
    """Plays scenarios in one session: prompts, and other calls of a client."""

    def __init__(self, client: HeadlessClient, agent: ClientSideConnection, cwd: str) -> None:
        self._client, self._agent, self._cwd = client, agent, cwd
        self.failed = False

    async def play(self, scenarios: list[str]) -> None:
        """Opens a session and plays scenarios; ends at the first error, which is noted."""
        try:
            await self._open()
            for scenario in scenarios:
                await getattr(self, f"play_{scenario}", self.prompt)(scenario)
        except (acp.RequestError, ConnectionError) as e:
            self._note(error=getattr(e, "code", None), message=str(e))
            self.failed = True

    async def _open(self) -> None:
        capabilities = schema.ClientCapabilities(
            fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
            terminal=True,
        )
        me = schema.Implementation(name="demo-client", title="Demo client", version="1.0")
        reply = await self._agent.initialize(acp.PROTOCOL_VERSION, capabilities, me)
        self._note(agent=reply.agent_info and reply.agent_info.name, version=reply.protocol_version)
        self._session = (await self._agent.new_session(self._cwd, mcp_servers=[])).session_id
        self._note(session=self._session)

    async def prompt(self, text: str) -> None:
        """Sends a prompt, and waits until the turn has ended."""
        self._note(prompt=text)
        reply = await self._agent.prompt(self._session, [acp.text_block(text)])
        self._note(stop=reply.stop_reason)

    async def play_slow(self, text: str) -> None:
        """Sends a prompt, and cancels the turn after its third chunk."""
        self._client.chunks_until_cancel = 3
        await self.prompt(text)

    async def play_mode(self, _: str) -> None:
        """Switches the mode of the session."""
        await self._agent.set_session_mode(self._session, "code")
        self._note(mode="code")

    async def play_load(self, _: str) -> None:
        """Loads the session, so that the agent sends its history again."""
        await self._agent.load_session(self._cwd, self._session, mcp_servers=[])
        self._note(loaded=self._session)

    async def play_extension(self, _: str) -> None:
        """Calls an extension method that the agent has, and an unknown one."""
        self._note(extension=await self._agent.ext_method("demo/echo", {"text": "é 你 😀"}))
        try:
            await self._agent.ext_method("demo/unknown", {})
        except acp.RequestError as e:
            self._note(error=e.code, message=str(e))

    def _note(self, **events: Any) -> None:
        self._client.seen.append(events)


async def run(command: list[str], options: argparse.Namespace) -> tuple[bool, str]:
    """Plays scenarios with the agent of `command`; returns whether all succeeded, and all events.

    The agent gets our environment and our stderr, instead of those that the SDK would provide.
    """
    cwd = options.cwd.resolve()
    client = HeadlessClient(cwd, options.permission)
    async with acp.spawn_agent_process(
        cast("acp.Client", client),
        *command,
        env=os.environ,
        cwd=cwd,
        transport_kwargs={
            "limit": DEFAULT_STDIO_BUFFER_LIMIT_BYTES,
            "stderr": None,
            "shutdown_timeout": SHUTDOWN_S,
        },
        observers=wire_log(options.wire),
    ) as (agent, process):
        player = Player(client, agent, str(cwd))
        await player.play(options.scenario or ["tour"])
    client.seen.append({"exited": process.returncode})
    lines = ",\n".join(json.dumps(events, ensure_ascii=False) for events in client.seen)
    transcript = f"[\n{lines}\n]".replace(str(cwd), "$CWD")
    return not player.failed and process.returncode == 0, transcript


def arguments() -> argparse.ArgumentParser:
    """Returns the parser for the arguments before the agent's command."""
    parser = argparse.ArgumentParser(
        description="A headless ACP client.", usage="%(prog)s [OPTIONS] -- AGENT [ARGS...]"
    )
    parser.add_argument("--scenario", action="append", metavar="NAME", help="default: tour")
    parser.add_argument("--permission", choices=PERMISSIONS, default="allow")
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR")
    parser.add_argument("--wire", type=Path, metavar="FILE", help="note every message there")
    return parser


def main() -> None:
    """Runs the client from the command line."""
    parser = arguments()
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options, command = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1 :]
    if not command:
        parser.error("expected -- and the agent's command")
    went_well, transcript = asyncio.run(run(command, options))
    print(transcript)
    sys.exit(0 if went_well else 1)


if __name__ == "__main__":
    main()
