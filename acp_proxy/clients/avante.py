"""avante.nvim."""

from collections.abc import Sequence

from acp_proxy.clients.agents import RecordedAgent
from acp_proxy.clients.neovim import NeovimPlugin
from acp_proxy.clients.quoting import lua, lua_key, lua_list

_PASSED_ON = ("HOME", "XDG_DATA_HOME")
"""Variables that agents and acp-proxy need, and that avante does not pass to its children."""


class Avante(NeovimPlugin):
    """The plugin avante.nvim."""

    name = "avante"
    title = "avante"

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns Lua with a provider for each agent; the first one is selected."""
        lines = ['require("avante").setup({', f"  provider = {lua(agents[0].key)},"]
        lines.append("  acp_providers = {")
        for agent in agents:
            lines += [
                f"    {lua_key(agent.key)} = {{",
                f"      command = {lua(agent.command[0])},",
                f"      args = {lua_list(agent.command[1:])},",
                "      env = {",
                *(
                    f"        {name} = os.getenv({lua(name)}),"
                    for name in _PASSED_ON
                    if name not in agent.env
                ),
                *(f"        {lua_key(k)} = {lua(v)}," for k, v in agent.env.items()),
                "      },",
                "    },",
            ]
        return "\n".join([*lines, "  },", "})"])
