"""The agent of `recordings/` with one change, which the first argument names."""

from __future__ import annotations

import sys
from typing import Any

from tests.agents.plain_agent import Agent, Session, main


class OtherStopReason(Agent):
    """Ends each turn with the stop reason ``max_tokens``."""

    def prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answers ``session/prompt``."""
        return {**super().prompt(params), "stopReason": "max_tokens"}


class NewCapability(Agent):
    """Announces one more capability in its answer to ``initialize``."""

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answers ``initialize``."""
        answer = super().initialize(params)
        answer["agentCapabilities"]["promptCapabilities"] = {"image": True}
        return answer


class LateTools(Agent):
    """Sends the update that ends a tool call after its next text."""

    _waiting: tuple[dict[str, Any], ...] = ()

    def update(self, session: Session, kind: str, /, **what: Any) -> None:
        """Sends an update and remembers it."""
        if kind == "tool_call_update":
            self._waiting += (what,)
            return
        super().update(session, kind, **what)
        waiting, self._waiting = self._waiting, ()
        for late in waiting:
            super().update(session, "tool_call_update", **late)


class OtherTool(Agent):
    """Uses another title for its tool calls that edit."""

    def edit_title(self) -> str:
        """Returns the title of a tool call that edits."""
        return super().edit_title().replace("Edit ", "Patch ")


class OtherOptions(Agent):
    """Offers the options of a permission request under other ids."""

    def options(self) -> list[dict[str, str]]:
        """Returns the options of a permission request."""
        return [{**option, "optionId": f"{option['optionId']}-2"} for option in super().options()]


AGENTS: dict[str, type[Agent]] = {
    "stop-reason": OtherStopReason,
    "capability": NewCapability,
    "late": LateTools,
    "tool": OtherTool,
    "options": OtherOptions,
}

if __name__ == "__main__":
    main(AGENTS[sys.argv[1]])
