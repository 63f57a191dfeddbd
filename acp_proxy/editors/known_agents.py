"""The known ACP agents and their commands; ``make agents`` reads them from the official registry.

The data is in `known_agents.json`. `record` may read the data before the agent starts, so this
module imports little.
"""

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypedDict

    class KnownAgent(TypedDict):
        """An agent of the registry."""

        name: str
        command: list[str]
        """The command of an installed agent."""
        runner: list[str]
        """The command that gets and runs the agent's package if the program is not installed; empty
        without a package."""
        env: dict[str, str]
        """The variables that the agent needs."""
        version: str
        commit: str
        """The commit of the agent's entry in the registry."""
        compared: str
        """The day on which the package's stated repository was compared with the agent's
        repository; empty if never. Without a day, the package is never run: anybody may have
        published a package under a similar name."""
        repository: str
        """The repository that the package named on the day `compared`."""


def _read() -> "dict[str, KnownAgent]":
    path = f"{__file__.removesuffix('.py')}.json"
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  no pathlib before the agent starts
        agents: dict[str, KnownAgent] = json.load(file)["agents"]
    return agents


AGENTS = _read()
"""Every known agent by its id."""


def known_names() -> "list[str]":
    """Returns every name that `agent_id` recognizes: ids, ids without ``-acp``, and programs."""
    names = dict.fromkeys(AGENTS)
    for id_, row in AGENTS.items():
        names.setdefault(id_.removesuffix("-acp"))
        names.setdefault(row["command"][0])
    return list(names)


def agent_id(name: str) -> "str | None":
    """Returns the id of a known agent.

    Args:
        name: the agent's id, the id without ``-acp``, or the agent's program, in upper or lower
            case.
    """
    word = name.lower()
    if word in AGENTS:
        return word
    for id_, row in AGENTS.items():
        if word in (id_.removesuffix("-acp"), row["command"][0]):
            return id_
    return None


def command_of(id_: str, is_installed: "Callable[[str], bool]") -> "list[str]":
    """Returns the command of a known agent: its program, or the command that runs its package.

    Args:
        id_: the agent's id.
        is_installed: returns whether a program is found.
    """
    agent = AGENTS[id_]
    program, *words = agent["command"]
    is_run = agent["compared"] and not is_installed(program)
    return [*agent["runner"], *words] if is_run else [program, *words]


def advice(id_: str, is_installed: "Callable[[str], bool]") -> str:
    """Returns how the user can run an agent whose package acp-proxy does not run by itself.

    acp-proxy runs a package only if its origin was checked; see `KnownAgent.compared`. The text is
    empty if the origin was checked, if the agent has no package, or if its program is installed.

    Args:
        id_: the agent's id.
        is_installed: returns whether a program is found.
    """
    agent = AGENTS[id_]
    runner, (program, *words) = agent["runner"], agent["command"]
    if agent["compared"] or not runner or is_installed(program):
        return ""
    return (
        f"{program} is not in PATH, and nobody has compared the package {runner[-1]} with the"
        f" project of the agent; if you trust it, type: {' '.join([*runner, *words])}"
    )


def expanded(
    command: "Sequence[str]", is_installed: "Callable[[str], bool]"
) -> "tuple[list[str], Mapping[str, str], str] | None":
    """Replaces ``@NAME`` at the beginning of a command.

    Args:
        command: a command that begins with ``@NAME``.
        is_installed: returns whether a program is found.

    Returns:
        The command, the variables that the agent needs, and `advice`; None if no agent has this
        name.
    """
    id_ = agent_id(command[0][1:])
    if id_ is None:
        return None
    words = [*command_of(id_, is_installed), *command[1:]]
    return words, AGENTS[id_]["env"], advice(id_, is_installed)
