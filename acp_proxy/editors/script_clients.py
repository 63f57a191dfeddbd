"""Clients whose agents are named in a script: Lua in Neovim, Emacs Lisp, or a shell command."""

import os
import re
import shlex
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePath

from acp_proxy.base.errors import BadSettings
from acp_proxy.editors.acp_client import AcpClient
from acp_proxy.editors.agents import ConfiguredAgent, Machine, RecordedAgent, known_id

_DOUBLE = r'''"(?:[^"\\\n]|\\.)*"'''
_EITHER = rf"""(?:{_DOUBLE}|'(?:[^'\\\n]|\\.)*')"""
_COMMENT_LINE = re.compile(r"^[ \t]*(?:--|;).*$", re.MULTILINE)
_ESCAPES = {"n": "\n", "t": "\t"}


def lua(text: str) -> str:
    """Returns a text as a string literal of Lua."""
    return _quoted(text, "\\{:03d}")


def elisp(text: str) -> str:
    """Returns a text as a string literal of Emacs Lisp."""
    return _quoted(text, "\\{:03o}")


def lua_key(name: str) -> str:
    """Returns the name of a field in the form that a table constructor of Lua needs."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else f"[{lua(name)}]"


def lua_list(words: Sequence[str]) -> str:
    """Returns words as a table constructor of Lua that contains string literals."""
    return f"{{ {', '.join(map(lua, words))} }}" if words else "{}"


def agents_in(path: Path, data: bytes, word: str) -> list[ConfiguredAgent]:
    """Returns the agents whose commands are found in a file. The file is searched, not parsed.

    A command is a list of strings that begins with acp-proxy or with the program of a known agent.

    Args:
        path: the file.
        data: its content.
        word: a word that names the client; a file without this word names no agents for the client.
    """
    text = data.decode("utf-8", "replace")
    if word not in text:
        return []
    agents: dict[tuple[str, ...], ConfiguredAgent] = {}
    for command in _commands(text, _EITHER if path.suffix == ".lua" else _DOUBLE):
        agent = ConfiguredAgent("", command, path)
        name = known_id(agent.agent) or PurePath((*agent.agent, *command)[0]).name
        agents[command] = ConfiguredAgent(name, command, path)
    return list(agents.values())


def _commands(text: str, string: str) -> Iterator[tuple[str, ...]]:
    lists = re.compile(rf"{string}(?:[\s,]*(?:args\s*=\s*\{{\s*)?{string})*", re.DOTALL)
    for match in lists.finditer(_COMMENT_LINE.sub("", text)):
        words = tuple(_unquoted(word) for word in re.findall(string, match[0], re.DOTALL))
        for place, word in enumerate(words):
            rest = words[place:]
            is_proxy = PurePath(word).name == "acp-proxy" and rest[1:2] == ("record",)
            if is_proxy or (len(rest) > 1 and known_id(rest) is not None):
                yield rest
                break


def _quoted(text: str, escape: str) -> str:
    out = []
    for character in text:
        if character in '"\\':
            out.append(f"\\{character}")
        elif character == "\n":
            out.append("\\n")
        elif ord(character) < 32 or ord(character) == 127:
            out.append(escape.format(ord(character)))
        else:
            out.append(character)
    return f'"{"".join(out)}"'


def _unquoted(literal: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), literal[1:-1], flags=re.DOTALL)


_MOST_FILES = 400
_LARGEST = 1 << 20


class ScriptClient(AcpClient):
    """A client whose settings are a program. The program is searched for commands of agents."""

    owns_files = False

    def agents(self, path: Path, data: bytes) -> list[ConfiguredAgent]:
        """Returns the agents whose commands are found in a settings file.

        Args:
            path: the file.
            data: its content.
        """
        return agents_in(path, data, self.name)


class NeovimPlugin(ScriptClient):
    """A plugin in a directory ``NAME.nvim``, set up by ``require("NAME").setup``."""

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Yields the directories into which package managers install the plugin."""
        data, name = machine.data / _app(machine), f"{self.name}.nvim"
        yield data / "lazy" / name
        yield from data.glob(f"site/pack/*/*/{name}")
        yield data / "plugged" / name

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the settings files that name the plugin; if there are none, ``init.lua``."""
        directory = machine.config / _app(machine)
        files = []
        for file in islice(sorted(directory.rglob("*.lua")), _MOST_FILES):
            try:
                if file.stat().st_size <= _LARGEST and self.name.encode() in file.read_bytes():
                    files.append(file)
            except OSError:
                continue
        return files or [directory / "init.lua"]

    def place(self, path: Path) -> str:
        """Returns a phrase that names the call of ``setup``, which contains the settings.

        Args:
            path: the file that contains the call.
        """
        return f'for require("{self.name}").setup in {path}'


def _app(machine: Machine) -> str:
    return machine.environ.get("NVIM_APPNAME") or "nvim"


_PASSED_ON = ("HOME", "XDG_DATA_HOME")
"""Variables that agents and acp-proxy need, and that avante does not pass to its children."""


class Avante(NeovimPlugin):
    """The plugin avante.nvim."""

    name = "avante"
    title = "avante"

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns Lua with a provider for each agent; the first provider is selected."""
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
"""The names of CodeCompanion's own adapters, by the ids of known agents."""


class CodeCompanion(NeovimPlugin):
    """The plugin codecompanion.nvim."""

    name = "codecompanion"
    title = "CodeCompanion"

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns Lua with an adapter for each agent.

        For an agent that CodeCompanion does not know, the adapter extends the adapter of OpenCode.
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
"""The name of each agent in the variables of agent-shell, by the ids of known agents."""


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
        files = [config / "doom/config.el", *(home / name for name in names)]
        files = [file for file in [*files, config / "emacs/init.el"] if os.path.isfile(file)]  # noqa: PTH113  which raises nothing
        return files or [home / ".emacs.d/init.el"]

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns Emacs Lisp that sets the variables for each agent.

        If agent-shell has no variables for an agent, the agent becomes a comment.

        Raises:
            BadSettings: agent-shell has variables for none of the agents.
        """
        if not any(agent.id in _VARIABLES for agent in agents):
            names = ", ".join(_VARIABLES)
            raise BadSettings(f"agent-shell has Lisp variables for {names}, not for this agent")
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


class _CommandLineClient(AcpClient):
    """A client that gets its agent's command from the command line, not from settings."""

    is_graphical = False

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Yields the directory of the client's settings, and the program."""
        yield from (file.parent for file in self.files(machine))
        if program := machine.find(self.name):
            yield Path(program)

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns a shell command for each agent, one a line."""
        return "\n".join(self.line(agent) for agent in agents)

    @abstractmethod
    def line(self, agent: RecordedAgent) -> str:
        """Returns the shell command that starts the client with an agent."""

    def place(self, path: Path) -> str:  # noqa: ARG002
        """Returns a phrase that says that the snippet is for a shell.

        Args:
            path: the settings file of the client.
        """
        return "for a shell"


class Toad(_CommandLineClient):
    """Toad, which runs in a terminal."""

    name = "toad"
    title = "Toad"

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the client's settings file."""
        return [machine.config / "toad/toad.json"]

    def line(self, agent: RecordedAgent) -> str:
        """Returns the shell command that starts Toad with an agent."""
        words = ["toad", "acp", shlex.join(agent.command), "--title", agent.name]
        return shlex.join([*agent.env_words, *words])


class Marimo(_CommandLineClient):
    """marimo, to which a bridge connects agents."""

    name = "marimo"
    title = "marimo"

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the client's settings file."""
        return [machine.config / "marimo/marimo.toml"]

    def line(self, agent: RecordedAgent) -> str:
        """Returns the shell command that starts the bridge with an agent."""
        command = " ".join(map(_word, agent.command))
        words = ["npx", "stdio-to-ws", command, "--port", "3023"]
        return shlex.join([*agent.env_words, *words])


def _word(text: str) -> str:
    """Returns a word quoted for the bridge, which understands quotes but no other shell syntax."""
    is_plain = not {*text} & {*'"$`\\'}
    return f'"{text}"' if "'" in text and is_plain else shlex.quote(text)
