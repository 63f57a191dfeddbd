"""A pytest plugin that gives a test a recorded agent. The test fails if its client diverges.

    @pytest.mark.acp_recording("hello")
    def test_hello(acp_agent):
        with MyClient(acp_agent.command) as client:
            assert client.ask("hello") == "Hello!"

The fixture `acp_agent` is the command of an agent that plays a recording, such as
``recordings/hello.jsonl``. After the test, the plugin reads the report of the replay. The test
fails, and shows the report, if:

- the client diverged from the recording;
- a recorded message of the client never arrived;
- the agent was never started, or has not ended.

Every run of pytest loads this plugin. So the plugin imports only the standard library until a test
requests the fixture.
"""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acp_proxy.testing.marker import (
    BadOption,
    default_name,
    files_of,
    recording_place,
    replay_arguments,
    strings,
)
from acp_proxy.testing.replayed_agent import AcpAgent

__all__ = ["AcpAgent", "acp_agent"]

_MARK = "acp_recording"
_MODES = ("none", "once", "rewrite")
_FAILED_LATE = "acp_replay_failed"


class _AgentCheck:
    """Checks the agent of a test: after the test, or after the fixtures that use the agent."""

    def __init__(self, agent: AcpAgent, *, is_shared: bool) -> None:
        self.agent = agent
        self.is_shared = is_shared
        """Whether another fixture uses the agent. The client of the other fixture may end the agent
        only after the test."""
        self.is_done = False
        self.has_failed = False
        self.has_failed_late = False

    def can_wait(self) -> bool:
        """Whether the check has to be put off, because another fixture may still end the agent."""
        runs = self.agent.runs
        return self.is_shared and not (runs and all(run.is_over() for run in runs))

    def run(self, item: pytest.Item) -> None:
        """Stores new recordings; fails the test if the replay or the storing had a problem."""
        self.is_done = True
        complaint = self.agent.complaint()
        if complaint is None and self.agent.is_recording:
            complaint = _keep(self.agent, item)
        if complaint is not None:
            pytest.fail(complaint, pytrace=False)


_CHECK = pytest.StashKey[_AgentCheck]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options and settings of this plugin to pytest."""
    group = parser.getgroup("acp-proxy", "recorded ACP agents")
    group.addoption(
        "--acp-record",
        choices=_MODES,
        help="none (the default): only play recordings. once: record the real agent where there is"
        " no recording. rewrite: record the real agent in every test.",
    )
    group.addoption(
        "--acp-agent", metavar="CMD", help="The command of the real agent that is to be recorded."
    )
    parser.addini("acp_record", "The default of --acp-record; ignored where CI is set.")
    parser.addini("acp_agent_command", "The default of --acp-agent.")
    parser.addini("acp_recordings", "The directory of recordings, from the root directory.")
    parser.addini(
        "acp_agent_patience", "Seconds that an agent has to end after its test.", default="30"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker ``acp_recording``."""
    config.addinivalue_line(
        "markers",
        f"{_MARK}(name, *, order, timing, idle_cap, stall_timeout, lenient, inert, "
        "allow_outside, rewrite_text, ignore, agent): the recording that the fixture acp_agent "
        "plays, and how.",
    )


@pytest.fixture
def acp_agent(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AcpAgent]:
    """Gives the test an agent that plays a recording; the client must start ``acp_agent.command``.

    Args:
        request: a fixture of pytest.
        tmp_path_factory: a fixture of pytest.
    """
    item = request.node
    agent = _prepare(item, tmp_path_factory.mktemp("acp-agent"))
    check = item.stash[_CHECK] = _AgentCheck(agent, is_shared=_is_shared(item))
    yield agent
    if not check.is_done and not check.has_failed:
        try:
            check.run(item)
        except BaseException:
            check.has_failed_late = True
            raise
    for run in agent.runs:
        run.end()


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Checks the replay after a test that passed; this code is not reached if the test failed."""
    check = item.stash.get(_CHECK, None)
    if check is not None and not check.can_wait():
        check.run(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """If a test failed before its replays were checked, adds their reports to the test's report.

    Args:
        item: the test.
        call: the phase of the test.
    """
    outcome: Any = yield
    check = item.stash.get(_CHECK, None)
    if check is None:
        return
    report = outcome.get_result()
    if call.when == "teardown":
        if check.has_failed_late:
            setattr(report, _FAILED_LATE, True)
        elif check.has_failed and not check.is_done:
            report.sections.append(("acp replay (teardown)", check.agent.account()))
        del item.stash[_CHECK]
    elif call.excinfo is not None and not check.is_done:
        check.has_failed = True
        if call.when == "setup" or not check.can_wait():
            check.is_done = True
            if not call.excinfo.errisinstance(pytest.skip.Exception):
                report.sections.append(("acp replay", check.agent.account()))


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Counts a test as failed, not as an error, if its check fails during the teardown."""
    if report.failed and getattr(report, _FAILED_LATE, False):
        return "failed", "F", "FAILED"
    return None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Lists the new recordings at the end of pytest's output."""
    made = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == _MARK
    ]
    if made:
        terminalreporter.section("recordings made")
        for path in sorted(set(made)):
            terminalreporter.line(path)


def _prepare(item: pytest.Item, directory: Path) -> AcpAgent:
    """Makes the agent that the marker, the command line and the configuration describe."""
    from acp_proxy.base import system

    if not system.CAN_START_AGENTS:
        pytest.fail(
            "acp_agent does not run on this system; it does on Linux and macOS", pytrace=False
        )
    settings = _settings(item)
    if isinstance(settings, str):
        pytest.fail(settings, pytrace=False)
    name, words, real_agent, patience_s = settings
    place = _place(item, name)
    mode, recordings = _mode(item.config), files_of(place)
    if recordings and mode != "rewrite":
        real_agent = None
    elif mode == "none":
        pytest.fail(_missing(item, place), pytrace=False)
    elif real_agent is None:
        pytest.fail(f"cannot record {place}: {_NO_AGENT}", pytrace=False)
    return AcpAgent(
        directory,
        place,
        recordings=recordings,
        options=words,
        real_agent=real_agent,
        patience_s=patience_s,
    )


def _settings(item: pytest.Item) -> tuple[str | None, list[str], list[str] | None, float] | str:
    """Returns the settings (name, replay options, real agent, longest wait in s) or an error."""
    try:
        name, options = _marked(item)
        words = replay_arguments(options)
        real_agent = _real_agent(item.config, options)
        return name, words, real_agent, float(item.config.getini("acp_agent_patience"))
    except (BadOption, ValueError) as e:
        return str(e)


_NO_AGENT = (
    "expected the real agent's command, in --acp-agent, as agent=[...] of the marker, or as"
    " acp_agent_command in pytest's configuration"
)


def _missing(item: pytest.Item, place: Path) -> str:
    return (
        f"no recording at {place}. To make it from a real agent, run\n"
        f"    pytest --acp-record=once --acp-agent 'AGENT ARGS' {shlex.quote(item.nodeid)}\n"
        "and to make a test of a recording that you have,\n"
        f"    acp-proxy export REC --format pytest -o {shlex.quote(str(item.path.parent))}"
    )


def _marked(item: pytest.Item) -> tuple[str | None, dict[str, Any]]:
    """Returns the name and the options in a test's markers; the innermost marker wins."""
    name: str | None = None
    options: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers(_MARK))):
        if len(marker.args) > 1 or not all(isinstance(arg, str) for arg in marker.args):
            raise BadOption(f"acp_recording takes one name, a string; got {marker.args!r}")
        name = marker.args[0] if marker.args else name
        options.update(marker.kwargs)
    return name, options


def _real_agent(config: pytest.Config, options: dict[str, Any]) -> list[str] | None:
    given = config.getoption("acp_agent")
    if given:
        return shlex.split(given)
    if options.get("agent"):
        agent = options["agent"]
        return shlex.split(agent) if isinstance(agent, str) else strings(agent)
    return shlex.split(config.getini("acp_agent_command")) or None


def _place(item: pytest.Item, name: str | None) -> Path:
    if name is None:
        around = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
        name = default_name(item.path, [*around, item.name])
    ini = item.config.getini("acp_recordings")
    directory = item.config.rootpath / ini if ini else None
    return recording_place(name, item.path.parent, directory)


def _mode(config: pytest.Config) -> str:
    """Returns the mode of recording; in CI, only the command line can request new recordings."""
    if given := config.getoption("acp_record"):
        return str(given)
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false", "no")
    mode = (not in_ci and config.getini("acp_record")) or "none"
    if mode not in _MODES:
        raise pytest.UsageError(f"acp_record is {mode!r}: expected {', '.join(_MODES)}")
    return str(mode)


def _is_shared(item: pytest.Item) -> bool:
    """Whether another fixture uses `acp_agent`, so that the agent perhaps ends after the test."""
    known = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return any("acp_agent" in fixture.argnames for every in known.values() for fixture in every)


def _keep(agent: AcpAgent, item: pytest.Item) -> str | None:
    """Stores the new recordings; returns the reason if that fails."""
    from acp_proxy.base.errors import AcpProxyError
    from acp_proxy.testing.rehearsal import NotKept, keep

    try:
        for path in keep([run.database for run in agent.runs], agent.recording):
            item.user_properties.append((_MARK, str(path)))
    except (AcpProxyError, OSError) as e:
        return f"acp replay: nothing was recorded: {e}"
    except NotKept as e:
        return f"acp replay: the new recording does not replay, so it was not kept\n\n{e}"
    return None
