"""An ACP agent on the official Python SDK; a word of the prompt selects a scenario.

For the same input, the agent sends the same bytes: it uses no clock and no random numbers, and
counts its ids. So tests, demos and recordings use it in place of a real agent.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import acp
from acp import helpers, schema
from acp.connection import StreamDirection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from acp.connection import StreamEvent

StopReason = Literal["end_turn", "cancelled"]

SAMPLE_NAME = "greeting.txt"
"""The file in the session's directory that the scenarios ``edit`` and ``run`` work on."""

SAMPLE_TEXT = "Hello, world!\nHej! 你好! 😀\n"

MODES = schema.SessionModeState(
    current_mode_id="ask",
    available_modes=[
        schema.SessionMode(id="ask", name="Ask", description="Asks before it edits"),
        schema.SessionMode(id="code", name="Code", description="Edits without asking"),
    ],
)

OPTIONS = [
    schema.PermissionOption(option_id="allow", name="Allow", kind="allow_once"),
    schema.PermissionOption(option_id="always", name="Always allow", kind="allow_always"),
    schema.PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
]


@dataclass
class Session:
    """One session: its client, its directory, and the updates for ``session/load``."""

    client: acp.Client
    id: str
    cwd: Path
    mode: str = MODES.current_mode_id
    calls: int = 0
    history: list[helpers.SessionUpdate] = field(default_factory=list)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    async def update(self, update: helpers.SessionUpdate) -> None:
        """Sends a session update, and stores it for ``session/load``."""
        self.history.append(update)
        await self.client.session_update(self.id, update)

    async def say(self, *chunks: str) -> None:
        """Sends a text, with one update for each chunk."""
        for chunk in chunks:
            await self.update(acp.update_agent_message_text(chunk))

    def next_call(self) -> str:
        """Returns a new tool call id."""
        self.calls += 1
        return f"call-{self.calls}"


async def hello(session: Session) -> StopReason:
    """Sends a thought, a text with non-ASCII characters, and a plan."""
    await session.update(acp.update_agent_thought_text("A greeting. I should answer it."))
    await session.say("Hello! ", "Grüße, café, ", "你好, ", "😀.\n")
    greet = acp.plan_entry("Greet", status="completed")
    wait = acp.plan_entry("Wait for a question", status="pending")
    await session.update(acp.update_plan([greet, wait]))
    return "end_turn"


async def edit(session: Session) -> StopReason:
    """Reads the sample file and, if the client permits the edit, writes a changed file."""
    path, call = str(session.cwd / SAMPLE_NAME), session.next_call()
    where = [schema.ToolCallLocation(path=path)]
    await session.say(f"I will greet someone else in {SAMPLE_NAME}.\n")
    await session.update(
        acp.start_tool_call(
            call, f"Edit {SAMPLE_NAME}", kind="edit", status="pending", locations=where
        )
    )
    old = (await session.client.read_text_file(session.id, path)).content
    new = old.replace("world", "ACP")
    diff = acp.tool_diff_content(path, new, old)
    if session.mode == "ask":
        asked = schema.ToolCallUpdate(
            tool_call_id=call, title=f"Edit {SAMPLE_NAME}", kind="edit", content=[diff]
        )
        outcome = (await session.client.request_permission(session.id, asked, OPTIONS)).outcome
        if isinstance(outcome, schema.DeniedOutcome):
            await session.update(acp.update_tool_call(call, status="failed"))
            return "cancelled"
        if outcome.option_id == "reject":
            await session.update(acp.update_tool_call(call, status="failed"))
            await session.say("The edit was rejected; ", f"{SAMPLE_NAME} is as it was.\n")
            return "end_turn"
        if outcome.option_id == "always":
            session.mode = "code"
            await session.update(helpers.update_current_mode(session.mode))
    await session.client.write_text_file(session.id, path, new)
    await session.update(acp.update_tool_call(call, status="completed", content=[diff]))
    await session.say("Done.\n")
    return "end_turn"


async def run(session: Session) -> StopReason:
    """Runs a command in a terminal of the client, and reports how the command ended."""
    client, call = session.client, session.next_call()
    command, args = "grep", ["-c", "ACP", SAMPLE_NAME]
    terminal = await client.create_terminal(session.id, command, args, cwd=str(session.cwd))
    title, shown = " ".join([command, *args]), acp.tool_terminal_ref(terminal.terminal_id)
    await session.update(
        acp.start_tool_call(call, title, kind="execute", status="in_progress", content=[shown])
    )
    ended = await client.wait_for_terminal_exit(session.id, terminal.terminal_id)
    output = await client.terminal_output(session.id, terminal.terminal_id)
    await client.release_terminal(session.id, terminal.terminal_id)
    status: schema.ToolCallStatus = "failed" if ended.exit_code else "completed"
    raw_output = {"output": output.output, "exitCode": ended.exit_code}
    await session.update(acp.update_tool_call(call, status=status, raw_output=raw_output))
    await session.say(f"The command ended with exit code {ended.exit_code}.\n")
    return "end_turn"


async def slow(session: Session) -> StopReason:
    """Sends three chunks, and waits until the client cancels the turn."""
    await session.say("This ", "takes ", "long... ")
    await session.cancelled.wait()
    return "cancelled"


async def tour(session: Session) -> StopReason:
    """Plays in one turn all scenarios that end without a cancel."""
    for scenario in (hello, edit, run):
        if await scenario(session) == "cancelled":
            return "cancelled"
    return "end_turn"


async def explain(session: Session) -> StopReason:
    """Sends a list of the words that select a scenario."""
    await session.say("I know the words ", ", ".join(SCENARIOS), ".\n")
    return "end_turn"


SCENARIOS: dict[str, Callable[[Session], Awaitable[StopReason]]] = {
    "hello": hello,
    "edit": edit,
    "run": run,
    "slow": slow,
    "tour": tour,
}


class DemoAgent:
    """The agent's methods; without the SDK's base class, so that unknown methods fail."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def on_connect(self, conn: acp.Client) -> None:
        """Stores the connection to the client."""
        self._client = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> acp.InitializeResponse:
        """Answers ``initialize``."""
        return acp.InitializeResponse(
            protocol_version=min(protocol_version, acp.PROTOCOL_VERSION),
            agent_capabilities=schema.AgentCapabilities(load_session=True),
            agent_info=schema.Implementation(name="demo-agent", title="Demo agent", version="1.0"),
        )

    async def new_session(self, cwd: str, **kwargs: Any) -> acp.NewSessionResponse:
        """Answers ``session/new``."""
        session = Session(self._client, f"demo-session-{len(self._sessions) + 1}", Path(cwd))
        self._sessions[session.id] = session
        return acp.NewSessionResponse(session_id=session.id, modes=MODES)

    async def load_session(
        self, cwd: str, session_id: str, **kwargs: Any
    ) -> acp.LoadSessionResponse:
        """Sends the whole conversation again, and answers ``session/load``."""
        session = self._find(session_id)
        session.cwd = Path(cwd)
        for update in session.history:
            await self._client.session_update(session_id, update)
        modes = MODES.model_copy(update={"current_mode_id": session.mode})
        return acp.LoadSessionResponse(modes=modes)

    async def set_session_mode(
        self, session_id: str, mode_id: str, **kwargs: Any
    ) -> acp.SetSessionModeResponse:
        """Answers ``session/set_mode``."""
        session = self._find(session_id)
        if mode_id not in [mode.id for mode in MODES.available_modes]:
            raise acp.RequestError.invalid_params({"modeId": mode_id})
        session.mode = mode_id
        await session.update(helpers.update_current_mode(mode_id))
        return acp.SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> acp.PromptResponse:
        """Plays the scenario whose name comes first in a prompt, and answers the prompt."""
        session = self._find(session_id)
        session.cancelled.clear()
        session.history.extend(acp.update_user_message(block) for block in prompt)
        words = " ".join(getattr(block, "text", "") for block in prompt).lower().split()
        scenario = next((SCENARIOS[word] for word in words if word in SCENARIOS), explain)
        return acp.PromptResponse(stop_reason=await scenario(session))

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        """Notes that a ``session/cancel`` has arrived."""
        self._find(session_id).cancelled.set()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Answers ``_demo/echo``; all other extension methods are errors."""
        if method != "demo/echo":
            raise acp.RequestError.method_not_found(f"_{method}")
        return {"echo": params}

    def _find(self, session_id: str) -> Session:
        if session_id not in self._sessions:
            raise acp.RequestError.resource_not_found(session_id)
        return self._sessions[session_id]


def wire_log(path: Path | None) -> list[Callable[[StreamEvent], None]]:
    """Returns observers for the SDK that write each message of a peer to a file as JSON lines."""
    if path is None:
        return []
    file = path.open("w", encoding="utf-8", buffering=1)

    def note(event: StreamEvent) -> None:
        received = event.direction is StreamDirection.INCOMING
        file.write(json.dumps({"received": received, "message": event.message}) + "\n")

    return [note]


def main() -> None:
    """Serves one client on stdin and stdout."""
    parser = argparse.ArgumentParser(description="A deterministic ACP agent.")
    parser.add_argument("--wire", type=Path, metavar="FILE", help="note every message there")
    words = parser.parse_args()
    agent = cast("acp.Agent", DemoAgent())
    asyncio.run(acp.run_agent(agent, observers=wire_log(words.wire)))


if __name__ == "__main__":
    main()
