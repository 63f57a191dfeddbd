"""Runs all checks of `doctor`. Checks how acp-proxy is installed, and how clients start it.

The acp-proxy in a client's settings is run with ``--version``. Agents are not started, but only
looked up as files and in PATH.
"""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from attrs import evolve, frozen

from acp_proxy import __version__
from acp_proxy.base.wording import did_you_mean
from acp_proxy.editors.acp_client import AcpClient
from acp_proxy.editors.agents import SYSTEM_PATH, ConfiguredAgent, Machine
from acp_proxy.editors.doctor.context import (
    CheckResult,
    CheckStatus,
    DoctorContext,
    Examination,
    error,
    is_same,
    ok,
    warning,
)
from acp_proxy.editors.doctor.recordings_check import leftovers, recordings_directory, running
from acp_proxy.editors.doctor.variables import PREFIX, complaint, variables
from acp_proxy.editors.known_agents import expanded, known_names
from acp_proxy.editors.known_clients import find_clients
from acp_proxy.record.capture.record_options import is_off
from acp_proxy.store.files.database import SQLITE_VERSION


def client_settings(context: DoctorContext) -> Iterator[CheckResult]:
    """Yields the results for each agent that a client of this machine starts by way of acp-proxy.

    Args:
        context: the machine, and how acp-proxy is started on it.
    """
    known = set()
    for state in find_clients(context.machine):
        for problem in state.problems:
            yield warning(f"{state.client.title}: {problem}")
        for agent in state.recorded:
            key = agent.path, agent.name, agent.command
            if key not in known:  # two plugins of an editor may share its settings file
                known.add(key)
                yield from _Entry(context, state.client, agent).results()
    if not known:
        text = "no settings of an ACP client were found that name acp-proxy"
        yield warning(text, context.command("setup"))


@frozen
class _Program:
    """The result of looking a program up as a client does."""

    path: str | None
    is_certain: bool
    """False if the client may have a different PATH, and so might not find the program."""


class _Entry:
    """Checks one agent that a client starts by way of acp-proxy.

    Args:
        context: the machine, and how acp-proxy is started on it.
        client: the client.
        agent: the agent.
    """

    def __init__(self, context: DoctorContext, client: AcpClient, agent: ConfiguredAgent) -> None:
        self._context, self._client, self._agent = context, client, agent
        self._before, self._proxy = _split(agent.proxy)
        given = dict(word.split("=", 1) for word in self._before[1:] if "=" in word)
        self._env: Mapping[str, str] = {**agent.env, **given}
        self._name = f"{client.title} {agent.name!r}"

    def results(self) -> Iterator[CheckResult]:
        """Yields all problems; first an OK result, if acp-proxy answers and there is no error."""
        version, troubles = self._version()
        troubles += [*self._arguments(), *self._variables()]
        if any(result.status is CheckStatus.ERROR for result in troubles) or version is None:
            yield from troubles
            return
        what = "plays a recording" if self._words[:1] == ["replay"] else "records"
        agent = f" {self._agent.agent[0]}" if self._agent.agent and what == "records" else ""
        yield ok(f"{self._name}: acp-proxy {version} {what}{agent}")
        yield from troubles

    @property
    def _words(self) -> list[str]:
        """The words of the agent's command that follow the words for starting acp-proxy."""
        return [*self._agent.command[len(self._agent.proxy) :]]

    def _error(self, text: str, advice: str = "") -> CheckResult:
        where = f"change it in {self._agent.path}"
        advice = f"in {self._agent.path}, {advice}" if advice else where
        return error(f"{self._name}: {text}", advice=advice)

    def _warning(self, text: str, advice: str = "") -> CheckResult:
        advice = f"in {self._agent.path}, {advice}" if advice else ""
        return warning(f"{self._name}: {text}", advice=advice)

    def _version(self) -> tuple[str | None, list[CheckResult]]:
        """Asks the acp-proxy in the settings for its version, unless running it may be unsafe.

        Returns:
            The version, and a result for each problem. The version is None if acp-proxy was not run
            or did not answer.
        """
        word = self._proxy[0]
        own = shlex.join(self._context.own)
        if self._before and PurePath(self._before[0]).name != "env":
            text = f"{self._before[0]} starts its acp-proxy, whose version is not known"
            return None, [self._warning(text)]
        lookup = self._find(word)
        if lookup.path is None:
            what = "cannot be executed" if Path(word).is_file() else "was not found"
            return None, [self._error(f"{word} {what}", f"put {own} in its place")]
        troubles = []
        if word.startswith("~/"):
            text = f"{word} begins with ~, which not every client replaces"
            troubles.append(self._warning(text, f"put {lookup.path} in its place"))
        elif not word.startswith("/"):
            if "/" in word:
                text = f"{word} is not an absolute path"
                return None, [self._error(text, f"put {own} in its place")]
            if not lookup.is_certain:
                text = f"{word} is in your PATH; a graphical client may have a shorter one"
                troubles.append(self._warning(text, f"put {lookup.path} in its place"))
        if self._is_of_this_directory(lookup.path):
            text = f"{lookup.path} was not run, since anybody may have written to this directory"
            return None, [*troubles, self._warning(text)]
        environ = {**self._context.machine.environ, **self._env}
        answer = self._context.ask([lookup.path, *self._proxy[1:]], environ)
        if answer.version is None:
            return None, [self._error(f"{lookup.path} {answer.trouble}", f"put {own} in its place")]
        if answer.version != __version__:
            text = f"{lookup.path} is version {answer.version}, and this is {__version__}"
            troubles.append(self._warning(text))
        return answer.version, troubles

    def _is_of_this_directory(self, program: str) -> bool:
        """Whether the program or the settings are in the working directory.

        If so, somebody else may have written these files, for example in a cloned repository.
        """
        machine = self._context.machine
        is_here = machine.directory in (self._agent.path.parent, Path(program).parent)
        return is_here and machine.directory != machine.home

    def _arguments(self) -> Iterator[CheckResult]:
        words = self._words
        if words[:1] == ["replay"]:
            return
        if not words:
            advice = 'its arguments are "record", "--" and the agent\'s command'
            yield self._error("it starts acp-proxy without record", advice)
        elif words[0] != "record":
            advice = 'its arguments are "record", "--" and the agent\'s command'
            if words[0].split()[:1] == ["record"]:
                yield self._error("its arguments are one string", f"split it: {advice}")
            else:
                yield self._error("record is not the first argument of acp-proxy", advice)
        else:
            try:
                command = self._context.read_record(words[1:])
            except ValueError as e:
                yield self._error(str(e))
                return
            if "--" not in words:
                text = "there is no -- before the agent's command"
                yield self._warning(text, 'put "--" before it')
            yield from self._command(command)

    def _command(self, command: Sequence[str]) -> Iterator[CheckResult]:
        word = command[0]
        if word.startswith("@"):
            known = expanded(command, lambda program: self._find(program).path is not None)
            if known is None:
                near = did_you_mean(word.lower(), [f"@{name}" for name in known_names()])
                yield self._error(f"no known agent {word!r}{near}")
                return
            word = known[0][0]
        if word.startswith(("~", "$")):
            text = f"the agent {word} cannot be found: ~ and variables are not expanded"
            yield self._error(text, "give its absolute path")
            return
        lookup = self._find(word)
        if lookup.path is None:
            what = "cannot be executed" if Path(word).is_file() else "was not found"
            yield self._error(f"the agent {word} {what}", "give its absolute path")
        elif "/" in word and not word.startswith("/"):
            text = f"the agent {word} is found in some directories only"
            yield self._warning(text, "give its absolute path")
        elif not lookup.is_certain:
            text = f"the agent {word} is in your PATH; a graphical client may have a shorter one"
            yield self._warning(text, f"put {lookup.path} in its place")
        else:
            yield from self._interpreter(lookup.path)

    def _interpreter(self, path: str) -> Iterator[CheckResult]:
        """Yields a warning if ``env`` might not find the interpreter of a script."""
        interpreter = self._context.machine.interpreter_of(path)
        if interpreter is None:
            return
        lookup = self._find(PurePath(interpreter).name)
        if lookup.path is None or not lookup.is_certain:
            text = f"the agent {path} is run by {interpreter}, which the client may not find"
            directory = PurePath(interpreter).parent
            yield self._warning(text, f"add PATH with {directory} to its variables")

    def _variables(self) -> Iterator[CheckResult]:
        """Yields a result for each problematic variable in the settings; results show no values."""
        for name, value in self._env.items():
            if not name.startswith(PREFIX) or not value:
                continue
            if name == "ACP_PROXY_OFF" and is_off(value):
                yield self._error("ACP_PROXY_OFF switches recording off", "remove the variable")
            elif complaint(name, value):
                yield self._error(f"the value of {name} cannot be understood")
            elif self._context.removed(name, value):
                yield self._warning(f"its {name} belongs to an option that was removed")
            elif name == "ACP_PROXY_RECORDINGS" and value != str(self._context.recordings):
                yield self._warning("its ACP_PROXY_RECORDINGS is another directory than yours")

    def _find(self, word: str) -> _Program:
        machine = self._context.machine
        if "PATH" in self._env:
            return _Program(_with_path(machine, self._env["PATH"]).find(word), is_certain=True)
        if "/" not in word and self._client.is_graphical:
            path = _with_path(machine, SYSTEM_PATH).find(word)
            if path is None:
                return _Program(machine.find(word), is_certain=False)
            return _Program(path, is_certain=True)
        return _Program(machine.find(word), is_certain=True)


def _with_path(machine: Machine, path: str) -> Machine:
    return evolve(machine, environ={**machine.environ, "PATH": path})


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the words before acp-proxy, such as ``env A=B``, and the words that run acp-proxy."""
    count = 1 if words[-2:-1] != ("-m",) else 4 if words[-3:-2] == ("-P",) else 3
    return [*words[:-count]], [*words[-count:]]


_TOOLS = ("/pipx/venvs/", "/uv/tools/")
"""The directories in which pipx and uv keep the virtual environments that they manage."""


def version(_context: DoctorContext) -> Iterator[CheckResult]:
    """Yields one result with the versions of acp-proxy, of Python and of the system."""
    system = os.uname()
    python = ".".join(map(str, sys.version_info[:3]))
    yield ok(
        f"acp-proxy {__version__}, Python {python} ({sys.executable}), SQLite"
        f" {SQLITE_VERSION}, {system.sysname} {system.release} {system.machine}",
    )


def start_script(context: DoctorContext) -> Iterator[CheckResult]:
    """Yields the results for the path of acp-proxy, which an editor's settings have to contain.

    Args:
        context: the machine, and how acp-proxy is started on it.
    """
    script = Path(context.own[0])
    words = shlex.join(context.own)
    if len(context.own) > 1:
        yield warning(f"{words}: no start script was found, so settings need all of these words")
        return
    if not os.access(script, os.X_OK):
        yield error(f"{words} cannot be executed", f"chmod u+x {shlex.quote(words)}")
        return
    yield ok(words)
    if context.is_temporary:
        yield warning(
            f"{words} is in a cache or a temporary directory and may be removed some day",
            advice="before an editor uses it, install the checkout or the wheel: pipx or uv tool",
        )
    elif (environment := _virtual_environment(script)) is not None:
        yield warning(
            f"it is removed with the virtual environment {environment}",
            advice="for an editor, install the checkout or the wheel with pipx or uv tool",
        )
    yield from _by_name(context, script)


def _by_name(context: DoctorContext, script: Path) -> Iterator[CheckResult]:
    """Yields warnings if PATH leads to another ``acp-proxy``, or if an editor might find none."""
    machine = context.machine
    first = machine.find("acp-proxy")
    if first is not None and not is_same(Path(first), script):
        yield warning(f"`acp-proxy` in your PATH is another program, {first}")
    usual = evolve(machine, environ={**machine.environ, "PATH": SYSTEM_PATH})
    if usual.find("acp-proxy") is None:
        yield warning(
            f"a graphical editor may look through {SYSTEM_PATH} only, where acp-proxy is not",
            advice="settings need the absolute path above, which `acp-proxy setup` prints",
        )


def _virtual_environment(script: Path) -> Path | None:
    """Returns the virtual environment of a script.

    None if the script is in no virtual environment, or if pipx or uv manages the environment.
    """
    for place in (script, script.resolve()):
        directory = place.parent.parent
        if any(part in f"{place}" for part in _TOOLS):
            return None
        if (directory / "pyvenv.cfg").is_file():
            result = directory
            break
    else:
        return None
    return None if any(part in f"{script.resolve()}" for part in _TOOLS) else result


CHECKS: Mapping[str, Callable[[DoctorContext], Iterator[CheckResult]]] = {
    "version": version,
    "path": start_script,
    "recordings": recordings_directory,
    "variables": variables,
    "running": running,
    "clients": client_settings,
    "leftovers": leftovers,
}
"""The checks by their names, in the order in which they are shown.

Each check yields at least one result, and changes no file.
"""
_ORDER = [CheckStatus.OK, CheckStatus.WARNING, CheckStatus.ERROR]


def examine(context: DoctorContext) -> Examination:
    """Runs all checks and returns their results."""
    results = [
        evolve(each, check=name) for name, check in CHECKS.items() for each in check(context)
    ]
    return Examination(
        __version__,
        [*context.own],
        str(context.recordings),
        max((result.status for result in results), key=_ORDER.index),
        results,
    )
