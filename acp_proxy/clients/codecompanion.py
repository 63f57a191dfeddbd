"""CodeCompanion.nvim."""

from collections.abc import Iterable, Sequence

from acp_proxy.clients.agents import RecordedAgent
from acp_proxy.clients.neovim import NeovimPlugin
from acp_proxy.clients.quoting import lua, lua_key, lua_list

_ADAPTERS = {
    "auggie": "auggie_cli",
    "claude-acp": "claude_code",
    "codex-acp": "codex",
    "gemini": "gemini_cli",
    "goose": "goose",
    "kimi": "kimi_cli",
    "mistral-vibe": "mistral_vibe",
    "opencode": "opencode",
}
"""The adapters that CodeCompanion has, by the ids of known agents."""


class CodeCompanion(NeovimPlugin):
    """The plugin codecompanion.nvim."""

    name = "codecompanion"
    title = "CodeCompanion"

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns Lua with an adapter for each agent.

        For an agent that CodeCompanion does not know, the adapter extends that of OpenCode.
        """
        parts = [line for agent in agents for line in _adapter(agent)]
        return "\n".join(
            [
                'require("codecompanion").setup({',
                "  adapters = {",
                "    acp = {",
                *parts,
                "    },",
                "  },",
                "})",
            ]
        )


def _adapter(agent: RecordedAgent) -> Iterable[str]:
    own = _ADAPTERS.get(agent.id or "")
    yield f"      {lua_key(own or agent.key)} = function()"
    yield f'        return require("codecompanion.adapters").extend({lua(own or "opencode")}, {{'
    if own is None:
        yield f"          name = {lua(agent.key)},"
        yield f"          formatted_name = {lua(agent.name)},"
    yield "          commands = {"
    yield f"            default = {lua_list(agent.command)},"
    yield "          },"
    if agent.env:
        yield "          env = {"
        for name, value in agent.env.items():
            yield f"            {lua_key(name)} = {lua(value)},"
        yield "          },"
    yield "        })"
    yield "      end,"
