"""Shows the clients of a machine, the agents in their settings, and changes of the settings."""

from collections.abc import Iterator, Sequence
from difflib import unified_diff

from attrs import frozen

from acp_proxy.cli.masking import is_unredacted, new_redactor
from acp_proxy.cli.screens.styled_text import Ink, Screen, piece
from acp_proxy.cli.screens.table import Cell, Column, cell, table
from acp_proxy.editors.hiding import Masker, hidden_settings
from acp_proxy.editors.known_clients import FoundClient


@frozen
class ListedAgent:
    """An agent in a client's settings, as ``setup --json`` shows it."""

    name: str
    command: list[str]
    """The words of the command; empty if the client installs the agent, because the settings have
    no command."""
    env: list[str]
    """The names of the agent's environment variables."""
    headers: list[str]
    """The names of the HTTP headers for the agent."""
    recorded: bool
    """Whether acp-proxy starts the agent."""
    settings: str
    """The path of the settings file."""


@frozen
class ListedClient:
    """A client, as ``setup --json`` shows it."""

    client: str
    title: str
    installed: bool
    settings: list[str]
    """The existing settings files of the client."""
    writable: bool
    """Whether `--write` can add an entry to the client's settings."""
    agents: list[ListedAgent]
    problems: list[str]


def masker() -> Masker:
    """Returns a masker for texts and commands; with ``--unredacted``, it changes nothing."""
    if is_unredacted():
        return Masker(lambda text: text, lambda words: words)
    redactor = new_redactor()
    return Masker(redactor.text, redactor.command)


def listed(found_client: FoundClient, mask: Masker) -> ListedClient:
    """Returns the JSON form of a client and its agents, with secrets in commands masked.

    Args:
        found_client: the client.
        mask: masks the words of commands.
    """
    agents = [
        ListedAgent(agent.name, mask.command([*agent.command]), [*agent.env],
                    [*agent.header_names], bool(agent.proxy), str(agent.path))
        for agent in found_client.agents
    ]  # fmt: skip
    client, files = found_client.client, [*map(str, found_client.files)]
    return ListedClient(
        client.name, client.title, found_client.is_installed, files, bool(client.section), agents,
        [*found_client.problems],
    )  # fmt: skip


def clients_table(clients: Sequence[FoundClient], mask: Masker, screen: Screen) -> Iterator[str]:
    """Yields the lines of a table of clients and their agents.

    Args:
        clients: the clients of the machine.
        mask: masks the words of commands.
        screen: the screen that shows the table.
    """
    rows: list[tuple[Cell, ...]] = []
    for state in clients:
        title = cell(state.client.name)
        for agent in state.agents:
            command = cell(" ".join(mask.command([*agent.agent])) or "started by the client itself")
            how = [piece("recorded", Ink.TO_CLIENT)] if agent.proxy else cell("")
            names = cell(" ".join([*agent.env, *agent.header_names]))
            rows.append((title, cell(agent.name), how, command, names, cell(str(agent.path))))
            title = cell("")
        for path in state.unreadable:
            broken = [piece("cannot be read", Ink.TROUBLE)]
            rows.append((title, broken, *[cell("")] * 3, cell(str(path))))
            title = cell("")
        if not state.agents and not state.problems:
            where = cell(str(state.path) if state.files else "")
            rows.append((title, [piece("no agent", Ink.FAINT)], *[cell("")] * 3, where))
    cells = [*zip(*rows, strict=True)]
    columns = [
        Column("CLIENT", cells[0]),
        Column("AGENT", cells[1], least=16, rank=1),
        Column("", cells[2], rank=2),
        Column("COMMAND", cells[3], least=20, rank=3),
        Column("VARIABLES", cells[4], least=10, rank=4),
        Column("SETTINGS", cells[5], least=20, rank=5, keeps_end=True),
    ]
    yield from table(columns, screen, is_list=True)


def settings_diff(
    before: bytes | None, after: bytes | None, path: str, mask: Masker, screen: Screen
) -> Iterator[str]:
    """Yields the lines of a diff of settings. Secrets and the values of variables are masked.

    Args:
        before: the content of the file before the change; None if the file did not exist.
        after: the content of the file after the change; None if the file is removed.
        path: the path of the file.
        mask: masks the secrets outside the values of variables and headers.
        screen: the screen that shows the diff.
    """
    old, new = (
        [] if data is None else hidden_settings(data, mask).removeprefix("\ufeff").splitlines()
        for data in (before, after)
    )
    for line in unified_diff(old, new, path, path, lineterm=""):
        ink = {"+": Ink.TO_CLIENT, "-": Ink.TROUBLE, "@": Ink.FAINT}.get(line[:1])
        yield screen.whole(piece(line.replace("\t", "    "), ink))
