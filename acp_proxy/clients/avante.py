"""avante.nvim."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from acp_proxy.clients import neovim
from acp_proxy.clients.agents import ConfiguredAgent, RecordedAgent
from acp_proxy.clients.client import AcpClient
from acp_proxy.clients.machine import Machine
from acp_proxy.clients.quoting import agents_in, lua, lua_key, lua_list

_PASSED_ON = ("HOME", "XDG_DATA_HOME")
"""Variables that an agent or acp-proxy needs, and that avante does not pass on by itself."""


class Avante(AcpClient):
    """The plugin avante.nvim."""

    name = "avante"
    title = "avante"
    owns_files = False

    def signs(self, machine: Machine) -> Iterable[Path]:
        """The plugin."""
        return neovim.plugin(machine, "avante.nvim")

    def files(self, machine: Machine) -> Sequence[Path]:
        """The settings that name it."""
        return neovim.settings(machine, self.name)

    def agents(self, path: Path, data: bytes) -> list[ConfiguredAgent]:
        """Finds commands of agents.

        Args:
            path: the file.
            data: what it has.
        """
        return agents_in(path, data, self.name)

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns a provider for each agent, the first of which is chosen."""
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

    def place(self, path: Path) -> str:
        """Names the call that has the settings.

        Args:
            path: its settings file.
        """
        return f'for require("avante").setup in {path}'
