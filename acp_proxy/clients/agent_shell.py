"""agent-shell for Emacs."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from acp_proxy.clients.agents import RecordedAgent
from acp_proxy.clients.client import ScriptClient
from acp_proxy.clients.machine import Machine
from acp_proxy.clients.quoting import elisp
from acp_proxy.errors import BadSettings

_VARIABLES = {
    "auggie": "auggie",
    "claude-acp": "anthropic-claude",
    "codex-acp": "openai-codex",
    "cursor": "cursor",
    "factory-droid": "droid",
    "gemini": "google-gemini",
    "github-copilot-cli": "github",
    "goose": "goose",
    "mistral-vibe": "mistral",
    "opencode": "opencode",
    "qwen-code": "qwen",
}
"""The part of the names of agent-shell's variables that names the agent, by ids of known agents."""


class AgentShell(ScriptClient):
    """The package agent-shell."""

    name = "agent-shell"
    title = "agent-shell"

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Yields the directories into which package.el, straight and Doom install the package."""
        for directory in (machine.home / ".emacs.d", machine.config / "emacs"):
            yield from directory.glob("elpa/agent-shell-[0-9]*")
            yield directory / "straight/repos/agent-shell"
            yield directory / ".local/straight/repos/agent-shell"

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the files that Emacs reads when it starts."""
        home, config = machine.home, machine.config
        names = (".doom.d/config.el", ".emacs", ".emacs.el", ".emacs.d/init.el")
        found = [config / "doom/config.el", *(home / name for name in names)]
        found = [file for file in [*found, config / "emacs/init.el"] if os.path.isfile(file)]  # noqa: PTH113  which raises nothing
        return found or [home / ".emacs.d/init.el"]

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns Emacs Lisp that sets the variables for each agent.

        For an agent without variables it has a comment.

        Raises:
            BadSettings: agent-shell has variables for none of the agents.
        """
        if not any(agent.id in _VARIABLES for agent in agents):
            names = ", ".join(_VARIABLES)
            raise BadSettings(f"agent-shell has no variable for this agent; it has for {names}")
        lines = ["(with-eval-after-load 'agent-shell"]
        for agent in agents:
            word = _VARIABLES.get(agent.id or "")
            if word is None:
                lines.append(f"  ;; there is no variable for {agent.key}")
                continue
            words = " ".join(map(elisp, agent.command))
            lines += [f"  (setq agent-shell-{word}-acp-command", f"        '({words}))"]
            if agent.env:
                lines += [f"  (setq agent-shell-{word}-environment"]
                lines += ["        (agent-shell-make-environment-variables"]
                pairs = agent.env.items()
                lines += [f"         {elisp(name)} {elisp(value)}" for name, value in pairs]
                lines += ["         :inherit-env t))"]
        return "\n".join([*lines, "  )"])
