"""The agent of the recordings with one thing changed, which its first argument names."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any, cast

import acp
from acp import helpers, schema

from tests.agents import sdk_agent
from tests.agents.sdk_agent import DemoAgent, Session

if TYPE_CHECKING:
    from collections.abc import Callable


class OtherStopReason(DemoAgent):
    """Ends every turn because it was too long."""

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> acp.PromptResponse:
        """Answers ``session/prompt``."""
        await super().prompt(session_id, prompt, **kwargs)
        return acp.PromptResponse(stop_reason="max_tokens")


class NewCapability(DemoAgent):
    """Can do more."""

    async def initialize(self, protocol_version: int, **kwargs: Any) -> acp.InitializeResponse:
        """Answers ``initialize``."""
        answer = await super().initialize(protocol_version, **kwargs)
        assert answer.agent_capabilities is not None
        answer.agent_capabilities.prompt_capabilities = schema.PromptCapabilities(image=True)
        return answer


class NoSession(DemoAgent):
    """Makes no session."""

    async def new_session(self, cwd: str, **kwargs: Any) -> acp.NewSessionResponse:
        """Answers ``session/new``."""
        raise acp.RequestError.internal_error({"details": "no session today"})


class OtherIds(DemoAgent):
    """Calls its sessions otherwise than ever before."""

    async def new_session(self, cwd: str, **kwargs: Any) -> acp.NewSessionResponse:
        """Answers ``session/new``."""
        answer = await super().new_session(cwd, **kwargs)
        answer.session_id = f"s-{os.getpid()}-{answer.session_id}"
        self._sessions[answer.session_id] = self._sessions.popitem()[1]
        self._sessions[answer.session_id].id = answer.session_id
        return answer


def no_plan() -> None:
    """Sends no plan."""
    update = Session.update

    async def updated(session: Session, what: helpers.SessionUpdate) -> None:
        if not isinstance(what, schema.AgentPlanUpdate):
            await update(session, what)

    Session.update = updated  # type: ignore[method-assign, assignment]


def late_tools() -> None:
    """Tells how a tool went when it has already said what comes next."""
    update, waiting = Session.update, list[helpers.SessionUpdate]()

    async def updated(session: Session, what: helpers.SessionUpdate) -> None:
        if isinstance(what, schema.ToolCallProgress):
            waiting.append(what)
            return
        await update(session, what)
        while waiting:
            await update(session, waiting.pop())

    Session.update = updated  # type: ignore[method-assign, assignment]


def other_tool() -> None:
    """Calls its editing tool by another name."""
    start = acp.start_tool_call

    def started(call: str, title: str, **rest: Any) -> Any:
        return start(call, title.replace("Edit ", "Patch "), **rest)

    acp.start_tool_call = started  # type: ignore[assignment]


def other_options() -> None:
    """Offers its options under other ids."""
    for option in sdk_agent.OPTIONS:
        option.option_id = f"{option.option_id}-2"
    edit = sdk_agent.edit

    async def edited(session: Session) -> sdk_agent.StopReason:
        return await edit(_Renaming(session))  # type: ignore[arg-type]

    sdk_agent.SCENARIOS["edit"] = edited


class _Renaming:
    """A session whose client answers with the old ids."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return self if name == "client" else getattr(self._session, name)

    async def read_text_file(self, *args: Any) -> Any:
        return await self._session.client.read_text_file(*args)

    async def write_text_file(self, *args: Any) -> Any:
        return await self._session.client.write_text_file(*args)

    async def request_permission(self, *args: Any) -> Any:
        answer = await self._session.client.request_permission(*args)
        if isinstance(answer.outcome, schema.AllowedOutcome):
            answer.outcome.option_id = answer.outcome.option_id.removesuffix("-2")
        return answer


AGENTS: dict[str, type[DemoAgent]] = {
    "stop-reason": OtherStopReason,
    "capability": NewCapability,
    "no-session": NoSession,
    "ids": OtherIds,
}
CHANGES: dict[str, Callable[[], None]] = {
    "no-plan": no_plan,
    "late": late_tools,
    "tool": other_tool,
    "options": other_options,
}


def main() -> None:
    """Serves one client on stdin and stdout."""
    (what,) = sys.argv[1:]
    CHANGES.get(what, lambda: None)()
    agent = AGENTS.get(what, DemoAgent)()
    asyncio.run(acp.run_agent(cast("acp.Agent", agent)))


if __name__ == "__main__":
    main()
