"""No command and no file shows a secret that a test has hidden in a conversation.

`planted_places` makes the conversations. Files and output are searched for the secrets, for encoded
secrets, and for any ten characters of either. Recorder, agent and client are real processes.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from acp_proxy.redaction.markers import NumberedMarkers
from acp_proxy.redaction.redactor import Redactor, RedactorState
from tests.integration.processes import DEADLINE_S, agent
from tests.integration.puppet_talk import environment_in, watch
from tests.support.command_line import commands_with, run, words_for
from tests.support.log_writer import text
from tests.support.planted_places import (
    AGENT,
    CLIENT,
    STDERR,
    Conversation,
    Leaks,
    Step,
    conversation,
    pieces,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.support.fork_server import ForkServer

OWN = "Xk27fYqpLm92/vbTa+c0R"
"""A secret in the environment of the recorder."""
FAULTS = (
    'corrupt where="method:session/update" probability=0.05',
    'truncate where="method:session/update" keep_bytes=150 probability=0.1',
    "truncate where=kind:response keep_bytes=90 probability=0.2",
    'truncate where="method:session/update" keep_bytes=140 newline=false probability=0.02',
    "duplicate probability=0.1",
    'slice where="method:session/update" bytes=5 probability=0.05 delay_ms=0',
    'drop where="method:session/update" probability=0.02',
)


class Recorded:
    """A recorded conversation with secrets; its files and outputs are searched for them."""

    def __init__(self, acp_proxy: Path, home: Path, made: Conversation, *options: str) -> None:
        self.home, self.made, self.leaks = home, made, Leaks(made.secrets)
        self.path, self.temporary = home / "recordings" / "x.db", home / "tmp"
        self.temporary.mkdir(parents=True)
        self.path.parent.mkdir()
        script = home / "script"
        script.write_text(
            "".join(
                json.dumps([side, base64.b64encode(line).decode()]) + "\n"
                for side, line in made.steps
            )
        )
        self.variables = environment_in(home, TMPDIR=str(self.temporary), MY_API_TOKEN=OWN)
        self.received = bytearray()
        self._has_faults = "--fault" in options
        self._came, self._is_over = threading.Event(), False
        command = [*agent("scripted", script), *made.command]
        self.process = subprocess.Popen(
            [str(acp_proxy), "record", "-o", str(self.path), *options, "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.variables,
            cwd=home,
        )
        self._watchdog = watch(self.process)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def play(self) -> Recorded:
        """Sends each line of the client after all lines of the agent before it have arrived.

        Faults may drop responses and notifications, so with faults only requests are awaited.
        """
        assert self.process.stdin is not None
        expected, latest = 0, b""
        for side, line in [*self.made.steps, Step(CLIENT, b"")]:
            if side == AGENT:
                expected, latest = expected + len(line), line
            elif side == CLIENT:
                if not self._has_faults:
                    self._wait(expected)
                elif b'"method":' in latest and b'"id":' in latest:
                    self._wait(wanted=latest)
                with contextlib.suppress(BrokenPipeError):
                    os.write(self.process.stdin.fileno(), line)
        return self

    def _wait(self, size: int = 0, wanted: bytes = b"") -> None:
        while not self._is_over and (len(self.received) < size or wanted not in self.received):
            self._came.wait(0.01)
            self._came.clear()

    def end(self) -> Recorded:
        """Closes the client's end, and waits until the recording is finished."""
        return self._joined()

    def kill(self) -> Recorded:
        """Kills the recorder."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        return self._joined()

    def _joined(self) -> Recorded:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(DEADLINE_S)
        self._reader.join()
        self._watchdog.cancel()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self

    def _read(self) -> None:
        assert self.process.stdout is not None
        while data := os.read(self.process.stdout.fileno(), 1 << 16):
            self.received += data
            self._came.set()
        self._is_over = True

    def files(self, *paths: Path) -> list[str]:
        """Returns the secrets in files, also in the directory of temporary files."""
        result = [*paths, *self.temporary.rglob("*")]
        return [
            f"{path.name}: {leak}"
            for path in result
            if path.is_file()
            for content in contents(path)
            for leak in self.leaks.leaks_in(content)
        ]

    def stored(self) -> list[str]:
        """Returns the secrets in the database and in SQLite's files beside it."""
        beside = [p for p in self.path.parent.glob("x.db*") if p.suffix != ".log"]
        assert beside
        return self.files(*beside)

    def printed(self, *words: str | Path) -> list[str]:
        """Returns the secrets in the output of a command."""
        where = str(self.temporary)  # where no client has settings
        result = run(*words, home=self.path.parent, TMPDIR=where, HOME=where, XDG_CONFIG_HOME=None)
        assert result.exit_code in (0, 1, 2), words  # 2: an exported test does not pass
        leaks = self.leaks.leaks_in(result.stdout_bytes + result.stderr_bytes)
        return [f"{' '.join(map(str, words))}: {leak}" for leak in leaks] + self.files()


def contents(path: Path) -> Iterator[bytes]:
    """Yields the contents of a file, the files in an archive, and the data of a report page."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            files = [archive.read(name) for name in archive.namelist()]
    else:
        files = [path.read_bytes()]
    for data in files:
        yield data
        for block in re.findall(rb'<script type="application/octet-stream"[^>]*>([^<]+)', data):
            yield zlib.decompress(base64.b64decode(block))


def commands(path: Path, out: Path) -> Iterator[Sequence[str | Path]]:
    """Yields all commands that show a recording."""
    inspect = "inspect"
    yield ()
    for name in commands_with("--unredacted"):
        if name not in {"setup", "report", "note", "try", "web"}:
            yield words_for(name, path)
    for name in commands_with("--json"):
        if name not in {"setup", "faults list", "faults explain", "faults sweep", "try"}:
            yield *words_for(name, path), "--json"
    yield inspect, "list", "--check"
    for form in ("--top=50", "--github"):
        yield inspect, "check", path, form
    yield inspect, "check", path, "--junit", out / "x.xml"
    yield inspect, "check", path, "--baseline", out / "known.json", "--update-baseline"
    yield inspect, "bundle", path, "-o", out / "bug.zip"
    yield inspect, "bundle", path, "-o", out / "private.zip", "--level", "private"
    yield inspect, "report", path, "-o", out / "report.html"
    yield inspect, "transcript", path, "--full", "-o", out / "transcript.md"
    yield inspect, "log", path, "--raw"
    yield inspect, "log", path, "--no-fold"
    for number in (1, 2, 3, 12):
        yield inspect, "log", path, "--seq", str(number)
    for pattern in ("result", "call", "refused"):
        yield inspect, "search", pattern, path
    yield inspect, "search", "--json", "[a-z]{3}[0-9A-Z]", "-e", path
    yield inspect, "diff", path, Path("recordings/hello.db").resolve()
    yield inspect, "diff", path, Path("recordings/hello.db").resolve(), "--json"
    yield inspect, "export", path, "--format", "raw"
    yield inspect, "export", path, "--format", "pytest", "-o", out / "test_x.py"
    yield inspect, "export", path, "-o", out / "copy.db"
    yield inspect, "export", path, "-o", out / "copy.jsonl", "--level", "secrets"
    yield inspect, "secrets", path
    yield inspect, "secrets", path, "--check"


OTHER_FORMS = (("log", "--json"), ("log", "--no-fold"), *(("--seq", n) for n in "123"))
"""Options that print the same in another form; only tests of finished recordings use them."""


def everything(recorded: Recorded, *, chosen: Sequence[str] = ()) -> list[str]:
    """Returns the secrets in the outputs of commands and in the files that they write.

    Args:
        recorded: the recording.
        chosen: the names of the commands to run, without `OTHER_FORMS`; empty for all commands.
    """
    out = recorded.home / "out"
    out.mkdir()
    result = []
    for words in commands(recorded.path, out):
        is_other = any({*form} <= {*words} for form in OTHER_FORMS)
        if not chosen or (any(word in chosen for word in words) and not is_other):
            result += recorded.printed(*words)
    return result + recorded.files(*(path for path in out.rglob("*")))


@pytest.fixture
def record(acp_proxy: Path, tmp_path: Path) -> Iterator[Callable[..., Recorded]]:
    """Records conversations, and kills all recorders when the test ends."""
    begun: list[Recorded] = []

    def start(made: Conversation, *options: str) -> Recorded:
        begun.append(Recorded(acp_proxy, tmp_path / str(len(begun)), made, *options))
        return begun[-1].play()

    yield start
    for item in begun:
        item.kill()


@pytest.mark.parametrize("dialect", ["v2", "draft-1.0", "unstable"])
def test_the_database_holds_no_secret(record: Callable[..., Recorded], dialect: str) -> None:
    """A recorder forwards a secret unchanged and stores it masked."""
    made = conversation(dialect, large=5 << 20 if dialect == "draft-1.0" else 0, early=True)
    recorded = record(made).end()
    assert recorded.received == b"".join(line for side, line in made.steps if side == AGENT)
    assert recorded.printed("inspect", "list") == []  # which finishes one that was short
    assert recorded.stored() == []


def test_a_value_of_the_environment_is_stored_nowhere(record: Callable[..., Recorded]) -> None:
    """If an agent prints a secret of its environment in two pieces, a recorder stores it masked."""
    made = Conversation("v1", secrets={OWN: "a variable of the recorder"})
    made.ask("initialize", {"protocolVersion": 1}, protocolVersion=1)
    for number in range(10):
        pieces(made, [OWN[: number + 3], OWN[number + 3 :]], number)
        made.stderr(f"signed in with {OWN}")
    made.ask("session/prompt", {"stopReason": "end_turn"}, sessionId="s1", prompt=[text(OWN)])
    recorded = record(made).end()
    assert recorded.printed("inspect", "log", recorded.path, "--json") == []
    assert not recorded.path.with_name("x.db.log").exists()
    assert recorded.stored() == []


@pytest.mark.parametrize(
    ("dialect", "level", "hidden"),
    [
        ("draft-1.0", "none", 2),
        pytest.param("draft-1.0", "none", 6, marks=pytest.mark.soak),
        pytest.param("unstable", "secrets", 6, marks=pytest.mark.soak),
        pytest.param("draft-1.0", "secrets", 6, marks=pytest.mark.soak),
        pytest.param("unstable", "none", 6, marks=pytest.mark.soak),
    ],
)
def test_no_command_shows_a_secret(
    record: Callable[..., Recorded], dialect: str, level: str, hidden: int
) -> None:
    """No command prints a secret of a recording."""
    made = conversation(dialect, large=0, hidden=hidden, early=True)
    recorded = record(made, "--redact", level).end()
    assert everything(recorded) == []
    shown = run("inspect", "export", recorded.path, "--unredacted")
    assert bool(recorded.leaks.leaks_in(shown.stdout_bytes)) == (level == "none")
    page = recorded.home / "page.html"
    run("inspect", "report", recorded.path, "--unredacted", "-o", page)
    assert bool(recorded.files(page)) == (level == "none")


@pytest.mark.parametrize(
    ("level", "hidden"),
    [
        ("secrets", 2),
        pytest.param("secrets", 9, marks=pytest.mark.soak),
        pytest.param("none", 9, marks=pytest.mark.soak),
    ],
)
def test_no_command_shows_a_secret_of_a_live_recording(
    record: Callable[..., Recorded], level: str, hidden: int
) -> None:
    """No command shows a secret of a running recording."""
    made = conversation("unstable", large=0, hidden=hidden, early=True)
    recorded = record(made, "--redact", level)
    chosen = ("doctor", "list", "show", "log", "export", "transcript", "bundle", "report")
    assert everything(recorded, chosen=chosen) == []
    recorded.kill()
    shutil.rmtree(recorded.home / "out")
    assert everything(recorded, chosen=("show", "export")) == []
    assert not recorded.path.with_name("x.db.log").exists()
    assert level == "none" or recorded.stored() == []


@pytest.mark.parametrize("level", ["secrets", "none"])
def test_no_command_shows_a_secret_in_a_recorded_fault(
    record: Callable[..., Recorded], level: str
) -> None:
    """If a fault changed a recorded line, `show` and `log` mask secrets in its old and new form."""
    made = conversation("unstable", large=0, hidden=4)
    rules = [word for rule in FAULTS for word in ("--fault", rule)]
    recorded = record(made, "--redact", level, "--seed", "1", *rules).end()
    chosen = ("show", "log", "export")
    assert everything(recorded, chosen=chosen) == []
    assert level == "none" or recorded.stored() == []


# What plays a recording


def diverging(made: Conversation, side: str) -> Conversation:
    """Returns a conversation in which one side sends other lines, with secrets in them."""
    redactor = Redactor(RedactorState(""), markers=NumberedMarkers())
    steps, shown = [], [""]
    for number, step in enumerate(made.steps):
        line = step.line
        if step.side == side and b"_chunk" not in line:
            if redactor.alone(line.rstrip()):
                shown = [
                    value for value in redactor.snapshot().values if value in made.secrets
                ] or shown
            secret = json.dumps(shown[number % len(shown)], ensure_ascii=False)[1:-1].encode()
            line = line.replace(b'"text":"', b'"text":"%b or ' % secret, 1)
            line = line.replace(b'"path":"', b'"path":"/other', 1)
            line = line.replace(b'"command":"curl', b'"command":"wget %b' % secret, 1)
            line = line.replace(b'"output":"', b'"output":"%b or ' % secret, 1)
        steps.append(Step(step.side, line))
    return evolve(made, steps=steps)


def shown_by(made: Conversation, side: str) -> list[str]:
    """Returns the secrets that masking recognizes in the lines of one side."""
    redactor = Redactor(RedactorState(""), markers=NumberedMarkers())
    for step in made.steps:
        if step.side == side:
            redactor.alone(step.line.rstrip())
    known = redactor.snapshot().values
    # Secrets with "=" all have the same end, so a piece of one may also be a piece of another.
    return [secret for secret in made.secrets if secret in known and "=" not in secret]


def playable(made: Conversation, directory: Path) -> Conversation:
    """Returns a conversation for a replay, without stderr, since a replay does not mask it."""
    here = str(directory).encode()
    steps = [Step(side, line.replace(b"/srv/app", here)) for side, line in made.steps]
    return evolve(made, steps=[step for step in steps if step.side != STDERR])


class Played:
    """Plays one recording to clients and agents, and searches all output for secrets.

    A masked recording does not contain the secrets. Then only those secrets are searched for that
    masking recognizes in the lines of the live peer.
    """

    def __init__(
        self, acp_proxy: Path, server: ForkServer, recorded: Recorded, *, is_masked: bool
    ) -> None:
        self._acp_proxy, self._server, self._recorded = acp_proxy, server, recorded
        self._is_masked, self._leaks = is_masked, recorded.leaks
        self.out = recorded.home / "played"
        self.out.mkdir()
        (recorded.home / "app").mkdir()
        self.client = self.out / "client.py"
        self.client.write_text(PLAYED_CLIENT)

    def script(self, made: Conversation) -> Path:
        """Writes the lines of a conversation into a file, and returns its path."""
        script = self.out / f"script-{len([*self.out.iterdir()])}"
        script.write_text(
            "".join(
                json.dumps([side, base64.b64encode(line).decode()]) + "\n"
                for side, line in made.steps
            )
        )
        return script

    def run(self, *words: str | Path) -> tuple[int, list[str]]:
        """Runs a command; returns its exit code, and the secrets in its output."""
        result = self._server.run(words, b"", env=self._recorded.variables, cwd=self.out)
        return result.returncode, self._found(words, result.stdout + result.stderr)

    def replay(self, made: Conversation) -> tuple[int, list[str]]:
        """Runs a replay; returns its exit code, and the secrets in reports and on stderr."""
        self._look_for(made, CLIENT)
        reports = self.out / "replay.json", self.out / "replay.xml"
        words = ("replay", "--report", reports[0], "--junit", reports[1], self._recorded.path)
        start = (sys.executable, self.client, self.script(made), "quiet", self._acp_proxy)
        result = subprocess.run(
            [*start, *words],
            capture_output=True,
            env=self._recorded.variables,
            timeout=DEADLINE_S,
            check=False,
        )
        leaks = self._found(words, result.stderr) + self._in(*reports)
        return json.loads(reports[0].read_text())["exit_code"], leaks

    def verify(self, made: Conversation, *more: str) -> tuple[int, list[str]]:
        """Runs `verify`; returns its exit code, and the secrets in output and recordings."""
        self._look_for(made, AGENT)
        new, reports = self.out / "new.db", (self.out / "verify.json", self.out / "verify.xml")
        new.unlink(missing_ok=True)
        command = [*agent("scripted", self.script(made)), *made.command]
        where = self._recorded.home / "app"
        files = ("--report", reports[0], "--junit", reports[1], "-o", new, "--cwd", where)
        code, leaks = self.run("verify", *files, *more, self._recorded.path, "--", *command)
        return code, leaks + self._in(*reports, *([new] if self._is_masked else []))

    def _look_for(self, made: Conversation, side: str) -> None:
        if self._is_masked:
            self._leaks = Leaks({secret: made.secrets[secret] for secret in shown_by(made, side)})

    def _found(self, words: Sequence[str | Path], data: bytes) -> list[str]:
        return [f"{' '.join(map(str, words))}: {leak}" for leak in self._leaks.leaks_in(data)]

    def _in(self, *paths: Path) -> list[str]:
        return [
            f"{path.name}: {leak}"
            for path in paths
            for leak in self._leaks.leaks_in(path.read_bytes())
        ]


PLAYED_CLIENT = """
import base64, json, subprocess, sys, threading
script, how, *command = sys.argv[1:]
agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
came, seen = [], threading.Condition()
def read():
    for line in agent.stdout:
        with seen:
            came.append(line)
            seen.notify()
    with seen:
        came.append(None)
        seen.notify()
reader = threading.Thread(target=read)
reader.start()
expected, patience_s = 0, 1.0
for side, line in map(json.loads, open(script)):
    line = base64.b64decode(line)
    if side == "agent":
        expected += 1
    elif side == "client":
        with seen:
            if not seen.wait_for(lambda: len(came) >= expected or None in came, patience_s):
                patience_s = 0.005  # it has diverged
        try:
            agent.stdin.write(line)
            agent.stdin.flush()
        except OSError:
            break
try:
    agent.stdin.close()
except OSError:
    pass
reader.join()
agent.wait()
if how == "loud":
    for line in came[-40:]:
        sys.stderr.buffer.write(line or b"")
    raise AssertionError("the client shows what came")
"""


@pytest.mark.parametrize("level", [pytest.param("secrets", marks=pytest.mark.soak), "none"])
def test_replay_verify_and_sweep_print_no_secret(
    record: Callable[..., Recorded],
    acp_proxy: Path,
    fork_server: ForkServer,
    tmp_path: Path,
    level: str,
) -> None:
    """If a recording contains secrets, `replay`, `verify` and `faults sweep` print none of them."""
    made = playable(conversation("unstable", large=0, hidden=2), tmp_path / "0" / "app")
    recorded = record(made, "--redact", level).end()
    played = Played(acp_proxy, fork_server, recorded, is_masked=level == "secrets")
    assert played.replay(made) == (0, [])
    assert played.replay(diverging(made, CLIENT)) == (1, [])
    # A masked recording sends markers, and the agent of the script says what it did then.
    code, leaks = played.verify(made, "--stall-timeout", "1")
    assert (code == 0 or level == "secrets", leaks) == (True, [])
    code, leaks = played.verify(diverging(made, AGENT), "--stall-timeout", "0.1")
    assert (code in (1, 3), leaks) == (True, [])
    plan = played.out / "plan.toml"
    plan.write_text('[[fault]]\nwhere = "dir:to-client"\nkind = "slice"\nbytes = 9\ndelay_ms = 0\n')
    words = [sys.executable, str(played.client), str(played.script(made))]
    junit, client = played.out / "loud.xml", shlex.join([*words, "loud"]) + " {agent}"
    options = ("--plans", plan, "--client", client, "--junit", junit, "--json")
    code, leaks = played.run("faults", "sweep", recorded.path, *options)
    assert code == 2
    assert leaks + recorded.files(junit) == []
