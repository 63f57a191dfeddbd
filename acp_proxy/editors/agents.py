"""The machine of a user, the agents in clients' settings, and agents that acp-proxy records."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from attrs import field, frozen

from acp_proxy.editors.known_agents import AGENTS, advice, command_of

_LONGEST_LINE = 256


@frozen
class Machine:
    """The environment of a user, in which clients are searched for."""

    environ: Mapping[str, str]
    platform: str
    """A value of `sys.platform`."""
    directory: Path
    """The working directory."""

    @property
    def home(self) -> Path:
        """The user's home directory."""
        home = Path(self.environ.get("HOME", ""))
        return home if home.is_absolute() else Path.home()

    @property
    def config(self) -> Path:
        """The directory for settings of programs that follow the XDG specification."""
        return self._xdg("XDG_CONFIG_HOME", ".config")

    @property
    def data(self) -> Path:
        """The directory for data of programs that follow the XDG specification."""
        return self._xdg("XDG_DATA_HOME", ".local/share")

    @property
    def applications(self) -> Path:
        """The directory for settings of graphical programs."""
        is_mac = self.platform == "darwin"
        return self.home / "Library/Application Support" if is_mac else self.config

    def find(self, program: str) -> str | None:
        """Returns the absolute path of a program, or None if it is not found."""
        if program.startswith("~/"):
            program = str(self.home / program[2:])
        path = shutil.which(program, path=self.environ.get("PATH", ""))
        return None if path is None else str(self.directory / path)

    def interpreter_of(self, program: str) -> str | None:
        """Returns the absolute path of the interpreter that ``env`` finds for a script.

        None if the program is not a script, does not use ``env``, or its interpreter is not found.
        """
        try:
            with Path(program).open("rb") as file:
                line = file.readline(_LONGEST_LINE)
        except OSError:
            return None
        words = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
        if not words or Path(words[0]).name != "env":
            return None
        names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        return self.find(names[0]) if names else None

    def _xdg(self, variable: str, otherwise: str) -> Path:
        directory = Path(self.environ.get(variable, ""))
        return directory if directory.is_absolute() else self.home / otherwise


SUFFIX = " (recorded)"
"""The end of a recorded agent's name."""
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
"""The directories that are in the PATH of graphical programs on most systems."""


@frozen
class ConfiguredAgent:
    """An agent in a client's settings."""

    name: str
    command: tuple[str, ...]
    """The words of the command; empty if the settings contain no command, for example for an agent
    that the client installs."""
    path: Path
    """The settings file; ``Path()`` for an agent from the list of known agents."""
    env: dict[str, str] = field(factory=dict)
    value: Any = None
    """The whole entry, if the settings are JSON."""

    @property
    def proxy(self) -> tuple[str, ...]:
        """The words that start acp-proxy; empty if acp-proxy does not start the agent."""
        for place, word in enumerate(self.command):
            if PurePath(word).name == "acp-proxy":
                return self.command[: place + 1]
            if self.command[place : place + 2] == ("-m", "acp_proxy"):
                return self.command[: place + 2]
            if word == "--":
                break
        return ()

    @property
    def agent(self) -> tuple[str, ...]:
        """The agent's own command, without acp-proxy."""
        if not self.proxy:
            return self.command
        if "--" in self.command:
            return self.command[self.command.index("--") + 1 :]
        return ()

    @property
    def header_names(self) -> tuple[str, ...]:
        """The names of the headers in the entry."""
        headers = self.value.get("headers") if isinstance(self.value, dict) else None
        return tuple(headers) if isinstance(headers, dict) else ()


@frozen
class RecordedAgent:
    """An agent with a command that starts the agent by way of acp-proxy."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(factory=dict)
    id: str | None = None
    """The id of the agent if it is a known agent."""
    value: Any = None
    """The entry in the client's settings that this agent was made from."""
    hidden: frozenset[str] = frozenset()
    """The names of variables whose values come from the client's settings and must not be shown."""
    notes: tuple[str, ...] = ()
    """Sentences that say what the user has to do before the agent can start."""

    @property
    def key(self) -> str:
        """The name in a form that is an identifier nearly everywhere, such as ``a-recorded``."""
        plain = "".join(c if c.isascii() and c.isalnum() else " " for c in self.name)
        return "-".join(plain.lower().split()) or "recorded"

    @property
    def env_words(self) -> list[str]:
        """Words that, put before a command, set the agent's variables; empty if it has none."""
        pairs = (f"{name}={value}" for name, value in self.env.items())
        return ["env", *pairs] if self.env else []


def known_id(command: Sequence[str]) -> str | None:
    """Returns the id of the known agent that a command starts; None if the agent is not known."""
    if not command:
        return None
    program = PurePath(command[0]).name
    for id_, agent in AGENTS.items():
        runner = agent["runner"]
        if program == agent["command"][0] and program != "node":
            return id_
        if runner and program == runner[0] and any(_is_package(w, runner[-1]) for w in command[1:]):
            return id_
    return None


def known_agent(id_: str, machine: Machine) -> ConfiguredAgent:
    """Returns a known agent in the form of an agent from a client's settings.

    Args:
        id_: the id of the agent.
        machine: the machine, whose installed programs decide how the agent is started.
    """
    command = command_of(id_, lambda program: machine.find(program) is not None)
    return ConfiguredAgent(AGENTS[id_]["name"], tuple(command), Path(), {**AGENTS[id_]["env"]})


def recorded(
    agent: ConfiguredAgent, own: Sequence[str], machine: Machine, *, is_graphical: bool
) -> RecordedAgent:
    """Returns an agent that is started by way of acp-proxy.

    In the command, the program of the agent gets its absolute path if it is found.

    Args:
        agent: the agent; its command must not be empty.
        own: the words that start acp-proxy.
        machine: the machine on which the agent's program is looked up.
        is_graphical: whether the PATH of the client may be shorter than the PATH of a shell.
    """
    command, env, notes = list(agent.agent), dict(agent.env), []
    path = machine.find(command[0])
    id_ = known_id(agent.agent)
    if path is None:
        is_known = id_ is not None and command[0] == AGENTS[id_]["command"][0]
        typed = advice(id_, lambda _: False) if id_ is not None and is_known else ""
        notes.append(typed or f"{command[0]} was not found in PATH; put its absolute path there")
    else:
        command[0] = path
    interpreter = None if path is None or not is_graphical else machine.interpreter_of(path)
    if interpreter is not None and "PATH" not in env:
        directory = str(Path(interpreter).parent)
        is_usual = directory in SYSTEM_PATH.split(":")
        env["PATH"] = SYSTEM_PATH if is_usual else f"{directory}:{SYSTEM_PATH}"
    return RecordedAgent(
        f"{agent.name.removesuffix(SUFFIX)}{SUFFIX}",
        (*own, "record", "--", *command),
        env,
        id_,
        agent.value,
        frozenset(agent.env) if agent.path != Path() else frozenset(),
        tuple(notes),
    )


def _is_package(word: str, package: str) -> bool:
    """Whether a word names a package, with or without a version."""
    return word == package or word.startswith((f"{package}@", f"{package}=="))
