"""``acp-proxy setup``: put acp-proxy before an agent in the settings of an editor."""

import sys
from pathlib import Path

import click
from attrs import evolve

from acp_proxy.base.wording import visible
from acp_proxy.cli.editors.own_command import is_temporary, own_command, this_machine
from acp_proxy.cli.editors.setup_screen import clients_table, listed, masker, settings_diff
from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.masking import is_unredacted, unredacted_option
from acp_proxy.cli.options import flag_option, unknown
from acp_proxy.cli.screens.output import Page, Writer, ask, say, say_json, stdout_screen, warn
from acp_proxy.editors.acp_client import AcpClient
from acp_proxy.editors.agents import ConfiguredAgent, Machine, RecordedAgent, known_agent, recorded
from acp_proxy.editors.hiding import hidden_agent
from acp_proxy.editors.known_agents import AGENTS, agent_id, known_names
from acp_proxy.editors.known_clients import CLIENTS, FoundClient, JsonClient, find_clients, look_at
from acp_proxy.editors.settings_changes import ChangeLog, add, check_writable, read, undo
from acp_proxy.editors.settings_edits import entries, insertion
from acp_proxy.recording.agent_names import agent_name
from acp_proxy.recording.file_names import recordings_directory


def _complete_client(_ctx: object, _param: object, incomplete: str) -> list[str]:
    return [client.name for client in CLIENTS if client.name.startswith(incomplete)]


def _complete_agent(_ctx: object, _param: object, incomplete: str) -> list[str]:
    configured = [agent.name for state in find_clients(this_machine()) for agent in state.agents]
    names = dict.fromkeys([*configured, *known_names()])
    return [name for name in names if name.startswith(incomplete)]


@cli_command()
@click.argument("client", required=False, shell_complete=_complete_client)
@click.argument("own_agent", metavar="[-- AGENT [ARGS]...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--agent", "name", metavar="NAME", allow_from_autoenv=False,
              shell_complete=_complete_agent,
              help="The agent's name in the settings, or the name of a known agent.")  # fmt: skip
@flag_option("--write", text="Add an entry to the settings, beside the existing one.")
@flag_option("--yes", text="Do not ask before writing.")
@flag_option("--undo", text="Remove the entry that --write added last.")
@flag_option("--json", text="One JSON object for each client.")
@unredacted_option
def setup(
    client: str | None,
    own_agent: tuple[str, ...],
    name: str | None,
    write: bool,
    yes: bool,
    undo: bool,
    json: bool,
) -> None:
    """Put acp-proxy before an agent in an editor's settings.

    Without CLIENT, lists the ACP clients of this machine and the agents in their settings. With
    CLIENT, prints settings to paste, with which acp-proxy records an agent. This agent is in the
    settings now, or is a known agent, or is the command after `--`. No agent is started.

    Examples:
      acp-proxy setup zed                      settings for Zed, ready to paste
      acp-proxy setup zed --write              adds these settings, if you agree
      acp-proxy setup                          all clients that were found
      acp-proxy setup zed --agent opencode     for one agent
      acp-proxy setup zed -- python agent.py   for an agent of your own
      acp-proxy setup zed --undo               removes the added settings
    """
    machine = this_machine()
    if write and undo:
        raise Refusal("expected --write or --undo, not both")
    if json and (write or undo or name is not None or own_agent):
        raise Refusal("--json cannot be combined with other options")
    if own_agent and (name is not None or undo):
        raise Refusal("a command after -- cannot be combined with --agent or --undo")
    if yes and not write:
        raise Refusal("--yes confirms a change: expected --write, too")
    if client is None:
        if name is not None or write or undo:
            raise Refusal("expected a client, such as `acp-proxy setup zed`")
        _list([*find_clients(machine)], machine, json=json)
        return
    chosen = _client_named(client)
    if undo:
        _undo(chosen, machine)
        return
    state = look_at(chosen, machine)
    if json:
        say_json(listed(state, masker()))
        return
    own = own_command(machine)
    agents = [
        recorded(agent, own, machine, is_graphical=chosen.is_graphical)
        for agent in (
            [_own_agent(own_agent)] if own_agent else _agents(state, name, machine, is_one=write)
        )
    ]
    for note in dict.fromkeys(note for agent in agents for note in agent.notes):
        warn(note)
    if is_temporary(own):
        problem = (
            f"{own[0]} is in a cache or a temporary directory and may be removed some day; install"
            " acp-proxy with `uv tool install` or `pipx install`, and run the installed one"
        )
        if write:
            raise Refusal(problem)
        warn(problem)
    if write:
        _write(state, agents[0], machine, is_sure=yes)
    else:
        _print(state, agents)


def _client_named(word: str) -> AcpClient:
    for client in CLIENTS:
        if word.lower() in (client.name, client.title.lower()):
            return client
    names = [client.name for client in CLIENTS]
    raise Refusal(unknown(word, names, "known client", f"expected one of {', '.join(names)}"))


def _list(clients: list[FoundClient], machine: Machine, *, json: bool) -> None:
    mask = masker()
    if json:
        for state in clients:
            say_json(listed(state, mask))
        return
    if not clients:
        warn(f"no ACP client was found for the home directory {machine.home}; known clients are"
             f" {', '.join(client.name for client in CLIENTS)}")  # fmt: skip
        return
    writer = Writer()
    for line in clients_table(clients, mask, stdout_screen()):
        writer.line(line)
    for problem in (problem for state in clients for problem in state.problems):
        warn(problem)
    plain = [state for state in clients if _unrecorded(state, machine)]
    page = Page(stdout_screen())
    if not plain and any(state.recorded for state in clients):
        say()
        say("Use an agent that is recorded, and then look at the recording.")
        page.next("acp-proxy list")
    else:
        page.next(f"acp-proxy setup {(plain or clients)[0].client.name}")
    page.flush()


def _own_agent(words: tuple[str, ...]) -> ConfiguredAgent:
    """Returns an agent with the user's command. Relative paths in the command become absolute."""
    files = (("/" in word or Path(word).suffix) and Path(word).is_file() for word in words)
    absolute = [
        str(Path(word).absolute()) if is_file else word
        for word, is_file in zip(words, files, strict=True)
    ]
    return ConfiguredAgent(agent_name(words) or words[0], tuple(absolute), Path())


def _agents(
    found_client: FoundClient, name: str | None, machine: Machine, *, is_one: bool
) -> list[ConfiguredAgent]:
    """Returns the agents to record.

    Raises:
        Refusal: the named agent cannot be recorded; without a name, no agent can be recorded. With
            `is_one` also: several agents can be recorded, or the settings have a problem.
    """
    title = found_client.client.title
    for problem in found_client.problems:
        if is_one:
            raise Refusal(problem)
        warn(problem)
    if name is not None:
        return [_agent_named(found_client, name, machine)]
    agents = _unrecorded(found_client, machine)
    if not agents and found_client.recorded:
        raise Refusal(f"every agent of {title} that can be recorded is set up already;"
                      " name another agent with --agent NAME")  # fmt: skip
    if not agents:
        agents = [
            known_agent(id_, machine)
            for id_, row in AGENTS.items()
            if machine.find(row["command"][0]) is not None
        ]
    if not agents:
        client_has_none = f"{title} has no agent that can be recorded"
        if found_client.files and not found_client.client.owns_files:
            client_has_none = f"{found_client.path} names no known agent"
        raise Refusal(f"{client_has_none}, and PATH has no known agent;"
                      f" name an agent, such as --agent opencode, or give a command, such as"
                      f" `acp-proxy setup {found_client.client.name} --"
                      " python agent.py`")  # fmt: skip
    if is_one and len(agents) > 1:
        names = ", ".join(repr(agent.name) for agent in agents)
        raise Refusal(f"several agents can be recorded; expected --agent with one of {names}")
    return agents


def _unrecorded(found_client: FoundClient, machine: Machine) -> list[ConfiguredAgent]:
    """Returns the agents in a client's settings that can be recorded and are not yet recorded."""
    recorded = {_identity(agent) for agent in found_client.recorded}
    plain = [_startable(agent, machine) for agent in found_client.agents if not agent.proxy]
    return [agent for agent in plain if agent is not None and _identity(agent) not in recorded]


def _agent_named(found_client: FoundClient, name: str, machine: Machine) -> ConfiguredAgent:
    word = name.removeprefix("@").lower()
    here = [agent for agent in found_client.agents if agent.name.lower() == word]
    for agent in here:
        if (startable := _startable(agent, machine)) is None:
            raise Refusal(
                f"{found_client.client.title} does not store the command of {agent.name!r}; name a"
                " known agent, or first add this agent, with its command, to the settings"
            )
        if agent.proxy:
            raise Refusal(f"{agent.name!r} is already set up to be recorded: see {agent.path}")
        return startable
    if id_ := agent_id(word):
        return known_agent(id_, machine)
    names = [*(agent.name for agent in found_client.agents), *known_names()]
    own = f"`acp-proxy setup {found_client.client.name} -- {name}` takes a command of your own"
    raise Refusal(unknown(name, names, "agent", own))


def _identity(agent: ConfiguredAgent) -> tuple[str, ...]:
    """Returns an agent's command without the directory of its program, to recognize the agent."""
    return tuple(Path(word).name for word in agent.agent[:1]) + agent.agent[1:]


def _startable(agent: ConfiguredAgent, machine: Machine) -> ConfiguredAgent | None:
    """Returns the agent with its command; None if no command is known.

    The settings have no command for an agent that the client installs. The command of such an agent
    is taken from the list of known agents.
    """
    if agent.agent:
        return agent
    id_ = agent_id(agent.name)
    if id_ is None or agent.command:
        return None
    known = known_agent(id_, machine)
    return evolve(known, path=agent.path, env={**known.env, **agent.env}, value=agent.value)


def _print(found_client: FoundClient, agents: list[RecordedAgent]) -> None:
    if not is_unredacted():
        shown = [hidden_agent(agent, masker()) for agent in agents]
        if shown != agents:
            copies = ", and --write copies them" if found_client.client.section else ""
            warn(f"secrets and values of variables are hidden; --unredacted shows them{copies}")
        agents = shown
    warn(f"{found_client.client.place(found_client.path)}:")
    writer = Writer()
    for line in found_client.client.snippet(agents).split("\n"):
        if isinstance(found_client.client, JsonClient):
            writer.json(line.encode())
        else:
            writer.line(visible(line))


def _write(
    found_client: FoundClient, agent: RecordedAgent, machine: Machine, *, is_sure: bool
) -> None:
    client = found_client.client
    if not client.section or not isinstance(client, JsonClient):
        raise Refusal(f"acp-proxy does not write the settings of {client.title}: paste what"
                      f" `acp-proxy setup {client.name}` prints")  # fmt: skip
    for other in found_client.recorded:
        if other.command == agent.command:
            raise Refusal(f"the entry {other.name!r} in {other.path} records this agent already")
    file = read(found_client.path)
    check_writable(file)
    name = _free_name(agent, [*entries(file.data or b"", client.section)])
    change = insertion(file.data or b"", client.section, name, client.entry(agent))
    _say_diff(file.data, change.after, found_client.path)
    if not is_sure:
        if not sys.stdin.isatty() or not sys.stderr.isatty():
            raise Refusal("expected --yes, since there is no terminal to ask on")
        if not ask(f"write {found_client.path}?"):
            warn("nothing was written")
            sys.exit(1)
    add(_log(machine, found_client.path), file, change, client.section, name)
    say(
        f"added {name!r} to {found_client.path}; `acp-proxy setup {client.name} --undo`"
        " removes the entry"
    )
    warn("recordings stay until you delete them; `--keep 14d` after `record` in the entry deletes"
         " recordings older than 14 days")  # fmt: skip


def _free_name(agent: RecordedAgent, names: list[str]) -> str:
    number, name = 1, agent.name
    while name in names:
        number += 1
        name = f"{agent.name} {number}"
    return name


def _undo(client: AcpClient, machine: Machine) -> None:
    if not client.section:
        raise Refusal(f"acp-proxy never writes the settings of {client.title}")
    paths = [path for path in client.files(machine) if _log(machine, path).read()]
    path = (paths or [*client.files(machine)])[0]
    file = read(path)
    change = undo(_log(machine, path), file)
    _say_diff(file.data, read(path).data, path)
    say(f"removed {change.name!r} from {path}")


def _say_diff(before: bytes | None, after: bytes | None, path: Path) -> None:
    writer = Writer()
    for line in settings_diff(before, after, str(path), masker(), stdout_screen()):
        writer.line(line)


def _log(machine: Machine, path: Path) -> ChangeLog:
    """Returns the log of changes of a settings file."""
    environ = {k: v for k, v in machine.environ.items() if k != "ACP_PROXY_RECORDINGS"}
    return ChangeLog(Path(recordings_directory(environ)) / "setup", read(path))
