"""Tests the pytest plugin in separate runs of pytest."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from attrs import frozen

from acp_proxy.pytest_plugin import AcpAgent
from acp_proxy.store.reader import RecordingReader
from acp_proxy.testing.marker import NAMES
from acp_proxy.testing.rehearsal import rehearse
from tests.support.command_line import run
from tests.support.shipped_recordings import HEALTHY
from tests.support.text_recordings import text_of

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "recordings"
PLUGIN = "acp_proxy/pytest_plugin.py"
EXAMPLE = ROOT / "examples" / "editor_plugin"
REAL_AGENT = f"{sys.executable} -IS {ROOT / 'tests' / 'agents' / 'greeting_agent.py'}"
TIMEOUT_S = 600
"""Seconds after which a run of pytest counts as hanging; no test measures time by it."""
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Variables that keep pytest from loading all plugins, which would take four times as long."""

pytestmark = pytest.mark.slow

CLIENT = f"""
    import contextlib, subprocess, sys, time
    import pytest

    def drive(agent, name="hello"):
        # Plays the client of a recording: sends each message once it has received all before it.
        # "bye" is "hello" with another word in the prompt, which always diverges with that.
        import sqlite3
        database = sqlite3.connect(f"{RECORDINGS}/{{name.replace('bye', 'hello')}}.db")
        frames = database.execute("SELECT raw, stream FROM frames ORDER BY seq").fetchall()
        database.close()
        with start(agent) as running:
            heard_all = all(passes(running, raw + b"\\n", stream, name) for raw, stream in frames)
            running.communicate()
        return running.returncode or int(not heard_all)

    def passes(running, line, stream, name):
        if stream == "to-client":
            return running.stdout.readline() == line
        with contextlib.suppress(BrokenPipeError):  # an agent that refuses is gone already
            running.stdin.write(line.replace(b'"hello"', b'"%b"' % name.encode()))
            running.stdin.flush()
        return True

    def start(agent):
        return subprocess.Popen(agent.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
"""


@frozen
class Outcome:
    """The exit code and the output of a run of pytest."""

    code: int
    output: str

    @property
    def words(self) -> dict[str, str]:
        """Returns the outcome of each test, by the test's name."""
        return self.words_in(r"\S+?")

    def words_in(self, file: str) -> dict[str, str]:
        """Returns the outcome of each test in a file, by the test's name."""
        result = re.findall(rf"^([A-Z]+) {file}::(\w+)", self.output, re.MULTILINE)
        return {name: word for word, name in result}

    def report_of(self, test: str) -> str:
        """Returns the report that pytest printed for a failed test."""
        result = re.search(
            rf"^_+ (?:ERROR at \w+ of )?{test} _+$(.*?)(?=^_{{3,}} |^={{3,}} )",
            self.output,
            re.MULTILINE | re.DOTALL,
        )
        assert result, self.output
        return result[1]


class Suite:
    """A directory with tests that use the pytest plugin."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.recordings = directory / "recordings"
        if not (directory / "pytest.ini").exists():
            self.configure()

    def configure(self, *lines: str) -> None:
        """Writes pytest.ini, with additional lines."""
        usual = ("filterwarnings = error", "addopts = --strict-markers --strict-config -rA")
        (self.directory / "pytest.ini").write_text("\n".join(["[pytest]", *usual, *lines]) + "\n")

    def recorded(self, *names: str) -> None:
        """Copies recordings into the suite, as databases, which open faster than texts."""
        self.recordings.mkdir(exist_ok=True)
        for name in names:
            shutil.copy(RECORDINGS / f"{name}.db", self.recordings)

    def recorded_as_text(self, *places: str) -> None:
        """Writes the text form of the recording "hello" to several paths."""
        for place in places:
            (self.directory / place).parent.mkdir(exist_ok=True)
            (self.directory / place).write_bytes(text_of(RECORDINGS / "hello.db"))

    def tests(self, source: str, name: str = "test_it.py") -> None:
        """Writes a pytest file with tests into the directory of the suite."""
        (self.directory / name).write_text(dedent(CLIENT) + dedent(source), encoding="utf-8")

    def command(self, *arguments: str) -> list[str]:
        """Returns the command that runs the tests."""
        return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]

    def run(self, *arguments: str, **environment: str) -> Outcome:
        """Runs the tests with only this plugin and the plugins in the arguments."""
        environment = {**ALONE, **environment}
        return self.run_with_installed_plugins("-p", "acp_proxy", *arguments, **environment)

    def run_with_installed_plugins(self, *arguments: str, **environment: str) -> Outcome:
        """Runs the tests with all installed plugins, as a user does."""
        result = subprocess.run(
            self.command(*arguments),
            cwd=self.directory,
            env={**plain_environment(), **environment},
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        return Outcome(result.returncode, (result.stdout + result.stderr).decode())


def plain_environment() -> dict[str, str]:
    """Returns the environment without settings of pytest and of acp-proxy."""
    left_out = ("ACP_PROXY_", "PYTEST_", "COV_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(left_out) and k != "CI"}
    return {**kept, "COLUMNS": "200", "NO_COLOR": "1"}


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """Returns a directory for tests."""
    directory = tmp_path / "suite"
    directory.mkdir()
    return Suite(directory)


FAILURES = """
    hello = pytest.mark.acp_recording("hello")

    @hello
    def test_clean(acp_agent):
        assert drive(acp_agent) == 0
        assert acp_agent.verdict() == "clean"
        assert acp_agent.report.exit_code == 0
        assert acp_agent.report.divergences == []
        assert acp_agent.report.text.startswith("replay of hello.db: clean")

    @hello
    def test_diverges(acp_agent):
        assert drive(acp_agent, "bye") == 1
        assert acp_agent.verdict() == "diverged"

    @hello
    def test_diverges_and_fails(acp_agent):
        assert drive(acp_agent, "bye") == 0

    @hello
    def test_leaves_early(acp_agent):
        agent = start(acp_agent)
        agent.communicate()

    @hello
    def test_never_starts(acp_agent):
        pass

    @hello
    def test_restarts(acp_agent):
        assert drive(acp_agent) == 0
        assert drive(acp_agent) == 0
        assert [report.verdict for report in acp_agent.reports] == ["clean"] * 2

    @hello
    def test_diverges_after_a_restart(acp_agent):
        assert drive(acp_agent) == 0
        drive(acp_agent, "bye")
        assert drive(acp_agent) == 0

    kept = []

    @pytest.fixture(scope="session", autouse=True)
    def nothing_is_left():
        yield
        for process in kept:
            process.communicate(timeout=60)

    @hello
    def test_leaves_it_running(acp_agent):
        kept.append(start(acp_agent))
        while not acp_agent.runs:  # it has begun, however busy the machine is
            time.sleep(0.01)

    @hello
    @pytest.mark.xfail(strict=True)
    def test_is_expected_to_diverge(acp_agent):
        drive(acp_agent, "bye")

    @hello
    def test_is_skipped(acp_agent):
        pytest.skip("no reason")

    @pytest.mark.acp_recording("nowhere")
    def test_has_no_recording(acp_agent):
        pass

    @pytest.mark.acp_recording("hello", oder="session")
    def test_has_an_unknown_option(acp_agent):
        pass

    @pytest.mark.acp_recording("hello", order="upwards")
    def test_has_a_bad_option(acp_agent):
        drive(acp_agent)

    @pytest.fixture
    def client(acp_agent):
        with start(acp_agent) as agent:
            yield agent
            agent.stdin.close()

    @hello
    def test_has_a_client_that_leaves_early(client):
        pass

    @hello
    def test_has_such_a_client_and_fails(client):
        assert client is None
"""


OPTIONS = """
    import json, pathlib
    pytestmark = pytest.mark.acp_recording("tour", ignore="/params/a", stall_timeout=7)

    @pytest.mark.acp_recording("hello", ignore=["/params/b", "/params/c"], lenient=True)
    def test_options(acp_agent):
        plan = json.loads(pathlib.Path(acp_agent.command[-1], "plan.json").read_text())
        words = " ".join(plan["options"])
        assert words == (
            "--ignore /params/b --ignore /params/c --stall-timeout 7 --lenient"
        )
        assert drive(acp_agent) == 0

    def test_outer(acp_agent):
        assert acp_agent.recording.name == "tour.db"
        assert drive(acp_agent, "tour") == 0
"""


NAMED = (
    "elsewhere/x.jsonl",
    "recordings/names-Class-own-a-b.jsonl",
    "recordings/names-own.jsonl",
    "recordings/text.jsonl",
)

NAMING = """
    @pytest.mark.acp_recording("./elsewhere/x")
    def test_path(acp_agent):
        assert drive(acp_agent) == 0

    @pytest.mark.acp_recording("text")
    def test_text(acp_agent):
        assert acp_agent.recording.name == "text.jsonl"
        assert drive(acp_agent) == 0

    def test_own(acp_agent):
        assert drive(acp_agent) == 0

    class TestClass:
        @pytest.mark.parametrize("value", ["a/b"])
        def test_own(self, acp_agent, value):
            assert drive(acp_agent) == 0
"""


STORY = """
    story = pytest.mark.acp_recording("story")

    @story
    def test_both(acp_agent):
        assert drive(acp_agent) == 0
        assert drive(acp_agent, "tour") == 0

    @story
    def test_one(acp_agent):
        assert drive(acp_agent) == 0

    @story
    def test_three(acp_agent):
        assert drive(acp_agent) == 0
        assert drive(acp_agent, "tour") == 0
        with start(acp_agent) as third:
            third.communicate()
        assert third.returncode != 0
"""


IMPORTS = """
    ONLY = {"acp_proxy", "acp_proxy.pytest_plugin", "acp_proxy.testing"}
    ONLY |= {f"acp_proxy.testing.{name}" for name in ("marker", "replayed_agent", "runs")}

    def test_imports():
        ours = {name for name in sys.modules if name.split(".")[0] == "acp_proxy"}
        assert ours <= ONLY
        assert not {"attrs", "cattrs", "trio", "click", "sqlite3"} & set(sys.modules)
"""


KINDS = {"test_before.py": IMPORTS, "test_it.py": FAILURES, "test_options.py": OPTIONS,
         "test_names.py": NAMING, "test_story.py": STORY}  # fmt: skip
ENDED = {
    "test_it.py": {
        "test_clean": "PASSED",
        "test_diverges": "FAILED",
        "test_diverges_and_fails": "FAILED",
        "test_leaves_early": "FAILED",
        "test_never_starts": "FAILED",
        "test_restarts": "PASSED",
        "test_diverges_after_a_restart": "FAILED",
        "test_leaves_it_running": "FAILED",
        "test_is_expected_to_diverge": "XFAIL",
        "test_has_no_recording": "ERROR",
        "test_has_an_unknown_option": "ERROR",
        "test_has_a_bad_option": "FAILED",
        "test_has_a_client_that_leaves_early": "FAILED",
        "test_has_such_a_client_and_fails": "FAILED",
    },
    # The closest marker wins; an option that it does not set is taken from an outer one.
    "test_options.py": {"test_options": "PASSED", "test_outer": "PASSED"},
    # A name, a path, the test's own name, another directory and a database are each found.
    "test_names.py": dict.fromkeys(("test_path", "test_text", "test_own", "TestClass"), "PASSED"),
    "test_story.py": {"test_both": "PASSED", "test_one": "FAILED", "test_three": "FAILED"},
    # Next to nothing is imported until a test asks for an agent.
    "test_before.py": {"test_imports": "PASSED"},
}
LEFT = "the client left without sending initialize #2"
PRINTED = {
    "test_diverges": [
        "\nacp: replay of hello.db: ", "the recording expected session/prompt #6",
        '/params/prompt/0/text: recorded "hello", came "bye"', "--ignore /params/prompt/0/text",
    ],
    "test_diverges_and_fails": [
        "assert 1 == 0", "- acp replay -", "the recording expected session/prompt #6",
    ],
    "test_leaves_early": [LEFT],
    "test_never_starts": ["the agent was never started"],
    "test_leaves_it_running": ["start 1 of the agent was still running", LEFT],
    "test_has_a_client_that_leaves_early": [LEFT],
    "test_has_such_a_client_and_fails": ["- acp replay (teardown) -", LEFT],
    "test_has_no_recording": [
        "no recording at ", "/recordings/nowhere.jsonl", "pytest --acp-record=once --acp-agent",
    ],
    "test_has_an_unknown_option": ["no option 'oder': expected order, "],
    "test_has_a_bad_option": ["'upwards' is not one of 'session'"],
    "test_one": ["not played: story.2.db"],
    "test_three": ["this is start 3 of the agent, but only 2 starts were recorded"],
}  # fmt: skip
"""For each test, the texts that its report contains, in this order."""


def test_a_test_fails_if_its_client_diverges(suite: Suite) -> None:
    """With the pytest plugin, a test fails if its client diverges from the recording."""
    suite.configure("acp_agent_patience = 1")
    suite.recorded("hello", "tour")
    shutil.copy(suite.recordings / "hello.db", suite.recordings / "story.db")
    shutil.copy(suite.recordings / "tour.db", suite.recordings / "story.2.db")
    suite.recorded_as_text(*NAMED)
    for name, source in KINDS.items():
        suite.tests(source, name)
    outcome = suite.run()
    assert {name: outcome.words_in(name) for name in KINDS} == ENDED
    assert "1 skipped" in outcome.output
    assert outcome.code == 1
    for test, texts in PRINTED.items():
        rest = outcome.report_of(test)
        for text in texts:
            assert text in rest, (test, text)
            rest = rest.partition(text)[2]
    assert "Traceback" not in outcome.report_of("test_diverges")
    assert "was still running" not in outcome.report_of("test_has_such_a_client_and_fails")
    assert "trio-" not in outcome.output  # no other plugin is there


def test_recordings_may_be_elsewhere(suite: Suite) -> None:
    """The configuration of pytest can name another directory for a test's recordings."""
    suite.configure("acp_recordings = elsewhere")
    suite.recorded_as_text("elsewhere/x.jsonl")
    suite.tests("""
        @pytest.mark.acp_recording("x")
        def test_directory(acp_agent):
            assert drive(acp_agent) == 0
    """)
    assert suite.run().words == {"test_directory": "PASSED"}


# Recording

RECORDING_TEST = """
    import json

    def ask(agent, number, method, **params):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        agent.stdin.write(json.dumps(message).encode() + b"\\n")
        agent.stdin.flush()
        received = ""
        while "id" not in (answer := json.loads(agent.stdout.readline())):
            received += answer["params"]["update"]["content"]["text"]
        return answer["result"], received

    @pytest.mark.acp_recording("made")
    def test_hello(acp_agent):
        with start(acp_agent) as agent:
            ask(agent, 1, "initialize", protocolVersion=1)
            session, _ = ask(agent, 2, "session/new", cwd="/", mcpServers=[])
            prompt = [{"type": "text", "text": "hello"}]
            _, received = ask(agent, 3, "session/prompt", prompt=prompt, **session)
            agent.stdin.close()
        assert "Hello!" in received
"""


def test_once_records_what_is_missing_and_then_replays(suite: Suite) -> None:
    """With the pytest setting `once`, a test records the agent only if it has no recording yet."""
    suite.tests(RECORDING_TEST)
    made = suite.recordings / "made.jsonl"
    record = ("--acp-record=once", "--acp-agent", REAL_AGENT)
    first = suite.run(*record)
    assert first.words == {"test_hello": "PASSED"}, first.output
    assert f"recordings made\n{made}" in re.sub(r"[=-]{3,} ?| ?[=-]{3,}", "", first.output)
    with RecordingReader(made) as reader:
        assert rehearse(reader).verdict == "clean"
    before = made.read_bytes()
    assert before.startswith(b'{"acp_proxy":1,')
    for arguments in ((), ("--acp-record=once", "--acp-agent", "/nowhere")):
        again = suite.run(*arguments)
        assert again.words == {"test_hello": "PASSED"}
        assert "recordings made" not in again.output
    assert made.read_bytes() == before


def test_rewrite_records_anew_unless_the_test_fails(suite: Suite) -> None:
    """With the pytest setting `rewrite`, only a test that passes replaces its recording."""
    names = ("made.jsonl", "made.2.jsonl", "kept.jsonl")
    suite.recorded_as_text(*(f"recordings/{name}" for name in names))
    made, second, kept = (suite.recordings / name for name in names)
    old = kept.read_bytes()
    suite.configure(f"acp_agent_command = {REAL_AGENT}", "acp_record = rewrite")
    suite.tests(RECORDING_TEST)
    failing = RECORDING_TEST.replace('"Hello!" in', '"Good day!" in').replace("made", "kept")
    suite.tests(failing.replace("test_hello", "test_fails"), "test_others.py")
    outcome = suite.run()
    assert outcome.words == {"test_hello": "PASSED", "test_fails": "FAILED"}
    assert "nothing was recorded, since the test has failed" in outcome.report_of("test_fails")
    assert kept.read_bytes() == old
    assert made.read_bytes() != old
    assert not second.exists()
    assert sorted(path.name for path in suite.recordings.iterdir()) == ["kept.jsonl", "made.jsonl"]
    again = suite.run("--acp-record=none", "test_it.py")
    assert again.words == {"test_hello": "PASSED"}


def test_nothing_is_recorded_in_ci_because_of_a_file(suite: Suite) -> None:
    """In CI, only the command line of pytest can ask for new recordings."""
    suite.tests(RECORDING_TEST)
    suite.configure(f"acp_agent_command = {REAL_AGENT}", "acp_record = once")
    strict = suite.run(CI="true")
    assert strict.words == {"test_hello": "ERROR"}
    assert "no recording at" in strict.report_of("test_hello")
    assert not suite.recordings.exists()
    assert suite.run("--acp-record=once", CI="true").words == {"test_hello": "PASSED"}


def test_recording_needs_an_agent(suite: Suite) -> None:
    """If a test must record and no real agent is set, the pytest plugin names the option."""
    suite.tests(RECORDING_TEST)
    marked = f'("other", agent={REAL_AGENT.split()!r})'
    source = RECORDING_TEST.replace('("made")', marked).replace("test_hello", "test_marked")
    suite.tests(source, "test_others.py")
    outcome = suite.run("--acp-record=once")
    assert outcome.words == {"test_hello": "ERROR", "test_marked": "PASSED"}
    assert "expected the real agent's command, in --acp-agent" in outcome.report_of("test_hello")


# Neighbours


@pytest.mark.parametrize("neighbour", ["trio", "asyncio"])
def test_it_works_beside_other_plugins(suite: Suite, neighbour: str) -> None:
    """With another pytest plugin for coroutines, async tests can use the replayed agent."""
    pytest.importorskip(f"pytest_{neighbour}")
    suite.recorded("hello")
    if neighbour == "asyncio":
        suite.configure("asyncio_default_fixture_loop_scope = function")
    library, mark = neighbour, f"@pytest.mark.{neighbour}"
    fixture = "pytest.fixture" if neighbour == "trio" else "pytest_asyncio.fixture"
    suite.tests(f"""
        import {library}, pytest_{library}
        hello = pytest.mark.acp_recording("hello")

        async def apart(function, *arguments):
            if {neighbour == "trio"}:
                return await trio.to_thread.run_sync(function, *arguments)
            return await asyncio.to_thread(function, *arguments)

        @{fixture}
        async def client(acp_agent):
            yield acp_agent
            await apart(drive, acp_agent)

        {mark}
        @hello
        async def test_clean(acp_agent):
            assert await apart(drive, acp_agent) == 0

        {mark}
        @hello
        async def test_diverges(acp_agent):
            await apart(drive, acp_agent, "bye")

        {mark}
        @hello
        async def test_has_a_fixture(client):
            pass
    """)
    if neighbour == "trio":
        outcome = suite.run_with_installed_plugins("-p", "no:asyncio")
    else:
        outcome = suite.run("-p", "pytest_asyncio.plugin")
    assert outcome.words == {
        "test_clean": "PASSED",
        "test_diverges": "FAILED",
        "test_has_a_fixture": "PASSED",
    }, outcome.output


def test_it_can_be_switched_off(suite: Suite) -> None:
    """If the pytest plugin is switched off, pytest has none of the plugin's options."""
    suite.tests("""
        def test_nothing(pytestconfig):
            assert not hasattr(pytestconfig.option, "acp_record")
    """)
    outcome = suite.run_with_installed_plugins("-p", "no:asyncio", "-p", "no:acp_proxy")
    assert outcome.words == {"test_nothing": "PASSED"}
    assert outcome.code == 0


def test_parallel_runs_are_independent(suite: Suite) -> None:
    """Two runs of pytest at the same time do not share replayed agents."""
    suite.recorded("hello")
    suite.tests("""
        @pytest.mark.acp_recording("hello")
        def test_clean(acp_agent):
            assert drive(acp_agent) == 0
            assert len(acp_agent.reports) == 1
    """)
    with side_by_side(suite, 2) as runs:
        for process in runs:
            output, _ = process.communicate(timeout=TIMEOUT_S)
            assert process.returncode == 0, output


def test_it_works_in_workers(suite: Suite) -> None:
    """With pytest-xdist, the main process reports a test whose replay diverged."""
    pytest.importorskip("xdist")
    suite.recorded("hello")
    suite.tests(RECORDING_TEST)
    suite.tests(
        """
        hello = pytest.mark.acp_recording("hello")

        @hello
        def test_diverges(acp_agent):
            drive(acp_agent, "bye")

        @pytest.fixture
        def client(acp_agent):
            yield start(acp_agent)
            drive(acp_agent, "bye")

        @hello
        def test_has_a_client(client):
            client.communicate()
    """,
        "test_others.py",
    )
    outcome = suite.run("-p", "xdist", "-n", "2", "--acp-record=once", "--acp-agent", REAL_AGENT)
    assert outcome.words == {
        "test_hello": "PASSED",
        "test_diverges": "FAILED",
        "test_has_a_client": "FAILED",
    }
    assert "recordings made" in outcome.output
    assert "the recording expected session/prompt #6" in outcome.report_of("test_diverges")


class side_by_side:  # noqa: N801  a context manager
    """Runs the tests of a suite several times in parallel."""

    def __init__(self, suite: Suite, count: int) -> None:
        self._runs = [
            subprocess.Popen(
                suite.command("-p", "acp_proxy"),
                cwd=suite.directory,
                env={**plain_environment(), **ALONE},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            for _ in range(count)
        ]

    def __enter__(self) -> list[subprocess.Popen[bytes]]:
        return self._runs

    def __exit__(self, *_: object) -> None:
        for process in self._runs:
            process.kill()
            process.communicate()


# The example, and tests that are exported


def test_the_example_passes(tmp_path: Path) -> None:
    """The tests of the example editor plugin pass."""
    directory = tmp_path / "editor_plugin"
    shutil.copytree(EXAMPLE, directory, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    ran = Suite(directory).run("-rA")
    assert ran.code == 0, ran.output
    assert set(ran.words.values()) == {"PASSED"}


def test_the_example_notices_a_changed_plugin(tmp_path: Path) -> None:
    """The test of the example editor plugin fails if the plugin refuses a recorded permission."""
    directory = tmp_path / "editor_plugin"
    shutil.copytree(EXAMPLE, directory, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    plugin = directory / "editor_plugin.py"
    source = plugin.read_text(encoding="utf-8")
    assert '"allow_once" if' in source
    plugin.write_text(source.replace('"allow_once" if', '"reject_once" if'), encoding="utf-8")
    ran = Suite(directory).run("-rA", "-k", "allowed")
    assert ran.words == {"test_an_allowed_edit_changes_the_file": "FAILED"}
    printed = ran.report_of("test_an_allowed_edit_changes_the_file")
    assert "outcome-differs" in printed
    assert "session/request_permission" in printed


def test_the_manual_shows_the_example() -> None:
    """All Python code on the manual's page about pytest comes from the tested example."""
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    example = (EXAMPLE / "tests" / "test_editor_plugin.py").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    assert all(block in example for block in blocks)


def test_the_manual_names_every_setting() -> None:
    """The manual names every option of the pytest plugin."""
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    fixture = [name for name in vars(AcpAgent) if not name.startswith("_")]
    ours = re.findall(r"(--acp-[a-z]+|acp_[a-z_]+)", (ROOT / PLUGIN).read_text(encoding="utf-8"))
    own_words = {"acp_proxy", "acp_replay_failed", "acp_recording", "acp_agent"}
    internal = {"runs", "complaint", "account"}
    for name in {*NAMES, *fixture, *ours} - own_words - internal:
        assert re.search(f"`(pytest )?{name}\\b", page), name


EXPORTED = [(path, ()) for path in HEALTHY]
CUT = [(path, ("--turn", "1")) for path, _ in EXPORTED]
SOME = [item for item in EXPORTED if item[0].stem in ("edit-allowed", "tour")]
Export = tuple[Path, tuple[str, ...]]


def what_became(suite: Suite, exports: list[Export]) -> dict[Export, list[str]]:
    """Exports tests from recordings, runs them, and returns their outcomes."""
    made = {}
    for path, turn in exports:
        wrote = run("inspect", "export", path, "--format", "pytest", "-o", suite.directory, *turn)
        assert wrote.exit_code == 0
        made[path, turn] = [Path(line) for line in wrote.stdout.splitlines()]
    assert all(file.is_file() for files in made.values() for file in files)
    outcome = suite.run()
    assert outcome.code == 0, outcome.output
    return {
        export: [word for file in files for word in outcome.words_in(file.name).values()]
        for export, files in made.items()
    }


@pytest.mark.parametrize(
    "exports",
    [
        pytest.param([*SOME, CUT[-1]], id="some"),
        pytest.param([*EXPORTED, *CUT], id="all", marks=pytest.mark.soak),
    ],
)
def test_exported_tests_pass(suite: Suite, exports: list[Export]) -> None:
    """`export --format pytest` makes tests of the shipped recordings, and these tests pass."""
    assert what_became(suite, exports) == {export: ["PASSED"] for export in exports}
