"""The agents that clients are configured with, and the same agents with acp-proxy before them."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from attrs import field, frozen

from acp_proxy.clients.machine import Machine
from acp_proxy.known_agents import AGENTS, command_of

SUFFIX = " (recorded)"
"""What the name of an agent that is recorded ends with."""
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
"""What a graphical program looks through at least, on most systems."""


@frozen
class ConfiguredAgent:
    """An agent of a client's settings."""

    name: str
    command: tuple[str, ...]
    """Empty if the client keeps it to itself, as for agents that it installs."""
    path: Path
    """The file that names it."""
    env: dict[str, str] = field(factory=dict)
    value: Any = None
    """The whole entry, where settings are JSON."""

    @property
    def proxy(self) -> tuple[str, ...]:
        """The words that start acp-proxy; empty if the agent is not started by it."""
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
        """The names of headers in the entry."""
        headers = self.value.get("headers") if isinstance(self.value, dict) else None
        return tuple(headers) if isinstance(headers, dict) else ()


@frozen
class RecordedAgent:
    """An agent as it is started by acp-proxy."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(factory=dict)
    id: str | None = None
    """Of the known agent that it is."""
    value: Any = None
    """The entry that it is made of."""
    hidden: frozenset[str] = frozenset()
    """The variables whose values are somebody else's."""
    notes: tuple[str, ...] = ()
    """What to know before it is used, a sentence each."""

    @property
    def key(self) -> str:
        """The name in a form that is an identifier nearly everywhere, such as ``a-recorded``."""
        plain = "".join(c if c.isascii() and c.isalnum() else " " for c in self.name)
        return "-".join(plain.lower().split()) or "recorded"


def known_id(command: Sequence[str]) -> str | None:
    """Returns the id of the known agent that a command starts."""
    if not command:
        return None
    program = PurePath(command[0]).name
    for id_, (_, installed, runner, _, _) in AGENTS.items():
        if program == installed[0] and program != "node":
            return id_
        if runner and program == runner[0] and any(_is_package(w, runner[-1]) for w in command[1:]):
            return id_
    return None


def known_agent(id_: str, machine: Machine) -> ConfiguredAgent:
    """Returns a known agent as it would be configured.

    Args:
        id_: its id.
        machine: where it is started.
    """
    command = command_of(id_, lambda program: machine.find(program) is not None)
    name, _, _, env, _ = AGENTS[id_]
    return ConfiguredAgent(name, tuple(command), Path(), dict(env))


def recorded(
    agent: ConfiguredAgent, own: Sequence[str], machine: Machine, *, is_graphical: bool
) -> RecordedAgent:
    """Puts acp-proxy before an agent, with the absolute path of both.

    Args:
        agent: the agent, with a command that is known.
        own: how acp-proxy is started.
        machine: where.
        is_graphical: whether the client may have a shorter PATH than a shell.
    """
    command, env, notes = list(agent.agent), dict(agent.env), []
    path = machine.find(command[0])
    if path is None:
        notes.append(f"{command[0]} was not found in PATH; put its absolute path there")
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
        known_id(agent.agent),
        agent.value,
        frozenset(agent.env) if agent.path != Path() else frozenset(),
        tuple(notes),
    )


def _is_package(word: str, package: str) -> bool:
    """Whether a word names a package, with or without a version."""
    return word == package or word.startswith((f"{package}@", f"{package}=="))
