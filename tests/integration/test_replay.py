"""Tests `acp-proxy replay` as editors start it, with real processes and real clients."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.client import main as scripted_client
from acp_proxy.store.reader import RecordingReader
from tests.agents.make_recordings import RECORDINGS
from tests.integration.processes import DEADLINE_S, Recorder, Recording, Talk, plain_signals
from tests.support.playbook import RecordedTranscript
from tests.support.playbook import record as record_book
from tests.support.reactive_client import Conversation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.fork_server import Forked, ForkServer

ROOT = Path(__file__).parents[2]

TALK = """
    1-4 session
    5 -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}]}
    6 <- session/update {"sessionId": "s", "update": {"text": "é 你 😀"}}
    7 <- #2 result {"stopReason": "end_turn"}
"""
OTHER_PROMPT = (
    b'{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":'
    b'{"sessionId":"s","prompt":[{"type":"text","text":"ho"}]}}\n'
)
PARSE_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n'


class Replaying(Talk):
    """A running replay, and the client's ends of its pipes."""

    def send_frames(self, recorded: RecordedTranscript, *numbers: int) -> None:
        """Sends recorded frames to the replay."""
        self.write(*(recorded.raw[number] for number in numbers))

    def expect_frames(self, recorded: RecordedTranscript, *numbers: int) -> None:
        """Reads the next bytes, and asserts that they are recorded frames."""
        self.expect(b"".join(recorded.raw[number] for number in numbers))


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[RecordedTranscript]:
    """Makes a recording of a short conversation."""
    made = record_book(tmp_path, TALK)
    yield made
    made.close()


@pytest.fixture
def replay(
    acp_proxy: Path, fork_server: ForkServer, tmp_path: Path
) -> Iterator[Callable[..., Replaying]]:
    """Starts replays of recordings, and kills those that still run when the test ends.

    With environment variables, the installed program runs; without them, a fork. `already_sent` is
    in the pipe before the replay starts, so no timeout of the replay can end before it.
    """
    started: list[subprocess.Popen[bytes] | Forked] = []

    def start(
        path: Path, *options: str, already_sent: bytes = b"", **environment: str
    ) -> Replaying:
        complaints = tmp_path / f"stderr-{len(started)}"
        kept = {k: v for k, v in os.environ.items() if not k.startswith("ACP_PROXY_")}
        stdin, client_end = os.pipe()
        os.write(client_end, already_sent)
        process: subprocess.Popen[bytes] | Forked
        with complaints.open("wb") as file, plain_signals(), os.fdopen(stdin, "rb"):
            if environment:
                process = subprocess.Popen(
                    [acp_proxy, "replay", path, *options],
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=file,
                    bufsize=0,
                    env={**kept, **environment},
                )
            else:
                process = fork_server.start(
                    ["replay", path, *options],
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=file.fileno(),
                    env=kept,
                    cwd=tmp_path,
                )
        process.stdin = os.fdopen(client_end, "wb", buffering=0)
        started.append(process)
        return Replaying(process, Recording(path), complaints, "")

    yield start
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def test_the_same_client_gets_the_same_answers(
    recorded: RecordedTranscript, replay: Callable[..., Replaying]
) -> None:
    """If a client behaves as recorded, `replay` sends the recorded answers and exits with 0."""
    conversation = replay(recorded.path)
    conversation.send_frames(recorded, 1)
    conversation.expect_frames(recorded, 2)
    conversation.send_frames(recorded, 3)
    conversation.expect_frames(recorded, 4)
    conversation.send_frames(recorded, 5)
    conversation.expect_frames(recorded, 6, 7)
    conversation.close_input()
    assert conversation.read_all() == b"".join(recorded.raw[n] for n in (2, 4, 6, 7))
    assert conversation.wait() == 0
    assert conversation.stderr == b""


def test_a_divergence_is_on_stderr_and_in_the_exit_code(
    recorded: RecordedTranscript, replay: Callable[..., Replaying]
) -> None:
    """If a client diverges, `replay` exits with 1.

    On stderr, it prints the recorded and the live value.
    """
    conversation = replay(recorded.path)
    received = conversation.exchange(recorded.raw[1], recorded.raw[3], OTHER_PROMPT)
    assert conversation.wait() == 1
    printed = conversation.stderr.decode()
    assert "params-differ in s (primary)" in printed
    assert "/params/prompt/0/text" in printed
    assert 'recorded "hi", came "ho"' in printed
    assert "--ignore /params/prompt/0/text" in printed
    assert str(recorded.path) in printed
    error = json.loads(received.splitlines()[-1])
    assert error["id"] == 2
    assert error["error"]["data"]["divergence"] == "params-differ"
    assert error["error"]["data"]["recorded"] == recorded.seq(5)


@pytest.mark.parametrize("name", ["--ignore", "alias"])
def test_the_option_of_the_report_allows_the_divergence(
    recorded: RecordedTranscript, replay: Callable[..., Replaying], tmp_path: Path, name: str
) -> None:
    """A replay does not diverge again if it gets the option that its report suggested."""
    place, rules = "/params/prompt/0/text", tmp_path / "rules.toml"
    rules.write_text(f'{name.strip("-")} = ["{place}"]', encoding="utf-8")
    option = (name, place) if name == "--ignore" else ("--rules", str(rules))
    conversation = replay(recorded.path, *option)
    conversation.exchange(recorded.raw[1], recorded.raw[3], OTHER_PROMPT)
    assert (conversation.wait(), conversation.stderr) == (0, b"")


def test_the_json_report_has_all_of_the_text_report(
    recorded: RecordedTranscript, replay: Callable[..., Replaying], tmp_path: Path
) -> None:
    """The JSON report of a replay has everything that the text report has."""
    out, xml = tmp_path / "report.json", tmp_path / "report.xml"
    conversation = replay(recorded.path, "--report", str(out), "--junit", str(xml))
    conversation.exchange(recorded.raw[1], recorded.raw[3], OTHER_PROMPT)
    assert conversation.wait() == 1
    report = json.loads(out.read_text())
    assert set(report) == {
        "recording", "verdict", "exit_code", "frames_sent", "lines_received", "messages_matched",
        "unplayed", "divergences", "left_out", "withheld", "withheld_outside", "waits",
        "bindings", "faults", "seed", "reproduce",
    }  # fmt: skip
    assert report["faults"] is None
    assert (report["verdict"], report["exit_code"], report["lines_received"]) == ("diverged", 1, 3)
    (divergence,) = report["divergences"]
    assert divergence["kind"] == "params-differ"
    assert (divergence["rank"], divergence["lane"]) == ("primary", "s")
    assert (divergence["seq"], divergence["line"]) == (recorded.seq(5), 3)
    assert divergence["near_misses"][0]["differences"] == [
        {"pointer": "/params/prompt/0/text", "recorded": '"hi"', "live": '"ho"'}
    ]
    suite = ET.fromstring(xml.read_text())
    assert (suite.tag, suite.get("tests"), suite.get("failures")) == ("testsuite", "2", "1")
    failures = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failures == ["s"]


def test_a_silent_client_stalls_the_replay(
    recorded: RecordedTranscript, replay: Callable[..., Replaying]
) -> None:
    """If the client sends nothing for the stall timeout, a replay exits with 3."""
    conversation = replay(
        recorded.path, "--stall-timeout", "2", already_sent=recorded.raw[1] + recorded.raw[3]
    )
    assert conversation.read_all() == recorded.raw[2] + recorded.raw[4]
    assert conversation.wait() == 3
    assert f"s: for the client, session/prompt #{recorded.seq(5)}" in conversation.stderr.decode()


def test_a_broken_pipe_is_no_traceback(
    recorded: RecordedTranscript, replay: Callable[..., Replaying]
) -> None:
    """If the client's pipe breaks, a replay prints no traceback."""
    conversation = replay(recorded.path)
    conversation.close_output()
    assert conversation.process.stdin is not None
    conversation.process.stdin.write(recorded.raw[1] + recorded.raw[3] + recorded.raw[5])
    conversation.close_input()
    assert conversation.wait() == 0
    assert b"Traceback" not in conversation.stderr


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_signal_ends_the_replay_as_end_of_input(
    recorded: RecordedTranscript, replay: Callable[..., Replaying], signum: signal.Signals
) -> None:
    """On a stop signal, a replay exits with 0 if everything was sent, and otherwise with 1."""
    for last, code in ((5, 0), (3, 1)):
        conversation = replay(recorded.path)
        for number, answers in ((1, (2,)), (3, (4,)), (5, (6, 7))):
            if number <= last:
                conversation.send_frames(recorded, number)
                conversation.expect_frames(recorded, *answers)
        conversation.process.send_signal(signum)
        assert conversation.wait() == code
        assert b"Traceback" not in conversation.stderr


def test_a_recorded_signal_is_awaited(record: Recorder, replay: Callable[..., Replaying]) -> None:
    """If a signal ended the recorded agent, a replay runs until it receives a signal."""
    requests = [
        b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}\n',
    ]
    answers = [
        b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{"sessions":[]}}\n',
    ]
    agent = 'for answer; do read -r _; echo "$answer"; done; read -r _'
    words = [answer.decode().strip() for answer in answers]
    recorded = record(["sh", "-c", agent, "sh", *words])
    for code in (-signal.SIGTERM, 0):
        conversation = recorded if code else replay(recorded.recording.path)
        for request, answer in zip(requests, answers, strict=True):
            conversation.write(request)
            conversation.expect(answer)
        conversation.process.send_signal(signal.SIGTERM)
        assert conversation.wait() == code
        assert conversation.stderr == b""


@pytest.mark.parametrize(
    ("closed", "code", "complaint"),
    [
        ("<&-", 1, b"the client left without sending initialize"),
        (">&-", 0, b""),
        ("2>&-", 0, b""),
        ("<&- >&- 2>&-", 1, b""),
        ("0>/dev/null", 1, b"the client left without sending initialize"),
    ],
)
def test_a_closed_descriptor_is_a_client_that_left(
    acp_proxy: Path, recorded: RecordedTranscript, closed: str, code: int, complaint: bytes
) -> None:
    """If stdin is closed when a replay starts, the replay acts as if its client has left."""
    result = subprocess.run(
        ["sh", "-c", f'exec "$0" replay "$1" {closed}', acp_proxy, recorded.path],
        input=recorded.raw[1] + recorded.raw[3] + recorded.raw[5],
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert complaint in result.stderr
    assert b"Traceback" not in result.stderr
    assert (result.returncode, result.stderr == b"") == (code, complaint == b"")
    assert result.stdout == (
        b"".join(recorded.raw[n] for n in (2, 4, 6, 7)) if closed == "2>&-" else b""
    )


TERMINATED = """
import os, signal, sys
from acp_proxy.entry import main
from acp_proxy.playback.replay import replay_report as reports
made = reports.report
def report(*arguments, **named):
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(os.getpid(), signum)
    return made(*arguments, **named)
reports.report = report
main()
"""
"""A script that runs ``acp-proxy`` and sends it signals between the last frame and the report."""


@pytest.mark.parametrize("options", [(), ("--fault", "noop")])
def test_a_signal_after_the_end_changes_nothing(
    recorded: RecordedTranscript, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """A SIGTERM after the client has left does not change the result of a replay."""
    out = tmp_path / "report.json"
    words = ["replay", str(recorded.path), *options, "--report", str(out)]
    with plain_signals():
        result = subprocess.run(
            [sys.executable, "-c", TERMINATED, *words],
            input=recorded.raw[1] + recorded.raw[3],
            capture_output=True,
            timeout=DEADLINE_S,
            check=False,
        )
    assert result.returncode == 1
    assert result.stdout == recorded.raw[2] + recorded.raw[4]
    assert b"the client left without sending session/prompt" in result.stderr
    assert json.loads(out.read_text())["exit_code"] == 1


def test_invalid_lines_are_answered_and_reported(
    recorded: RecordedTranscript, replay: Callable[..., Replaying]
) -> None:
    """If a client sends a line that is not JSON, a replay answers with an error.

    The replay reports the line as a divergence.
    """
    conversation = replay(recorded.path)
    garbage = b"\x1b[31mnot ACP\x07\n\xff\xfe\n"
    received = conversation.exchange(garbage, recorded.raw[1], recorded.raw[3], recorded.raw[5])
    expected = [PARSE_ERROR, PARSE_ERROR, *(recorded.raw[n] for n in (2, 4, 6, 7))]
    assert received == b"".join(expected)
    assert conversation.wait() == 1
    assert b"malformed-input" in conversation.stderr
    assert b"\x1b" not in conversation.stderr
    assert rb"\x1b[31mnot ACP\x07" in conversation.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere.db"], "nowhere.db"),
        ([__file__], "test_replay.py"),
        (["BOOK", "--timing", "soon"], "soon"),
        (["BOOK", "--ignore", "params"], "not a JSON pointer"),
        (["BOOK", "--report", "/nowhere/at/all.json"], "/nowhere/at"),
    ],
)
def test_bad_use_is_one_line_and_exit_code_2(
    acp_proxy: Path, recorded: RecordedTranscript, arguments: list[str], complaint: str
) -> None:
    """`replay` refuses an unknown recording or `--timing soon` with an error and exit code 2."""
    words = [str(recorded.path) if word == "BOOK" else word for word in arguments]
    result = subprocess.run(
        [acp_proxy, "replay", *words], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert (result.returncode, result.stdout) == (2, b"")
    assert complaint in result.stderr.decode()
    assert b"Traceback" not in result.stderr


def test_an_incomplete_recording_is_played_to_its_end(
    tmp_path: Path, replay: Callable[..., Replaying]
) -> None:
    """A replay of an incomplete recording sends all recorded frames, and then exits with 3."""
    from tests.support.log_writer import LogWriter, handshake

    path = tmp_path / "killed.db"
    with LogWriter(path) as recorder:
        handshake(recorder)
    conversation = replay(path)
    conversation_says = (
        b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n'
    )
    conversation.exchange(conversation_says)
    assert conversation.wait() == 3
    assert b"incomplete" in conversation.stderr


def play_randomly(run: Replaying, conversation: Conversation, chance: random.Random) -> bytes:
    """Sends the recorded client's messages in random pieces; returns the received bytes."""
    for saying in conversation.frames:
        wanted = sum(len(conversation.lines[seq]) for seq in saying.after)
        run.run(until=lambda wanted=wanted: len(run.received) >= wanted)  # type: ignore[misc]
        rest = saying.raw + b"\n"
        while rest:
            size = chance.randrange(1, 40)
            run.write(rest[:size])
            rest = rest[size:]
    run.run(until=lambda: len(run.received) >= len(conversation.whole))
    run.close_input()
    return run.read_all()


def hash_seeds(count: int) -> list[str]:
    """Returns seeds for PYTHONHASHSEED, the same in each run."""
    return [str(seed) for seed in random.Random(4).sample(range(2**32), count)]


@pytest.mark.parametrize("count", [4, pytest.param(1000, marks=pytest.mark.soak)])
def test_replays_agree_under_any_hash_seed(
    tmp_path: Path, replay: Callable[..., Replaying], count: int
) -> None:
    """Whatever PYTHONHASHSEED is, `replay --order recorded` sends the same bytes."""
    from tests.unit.playback.drivers.test_replayer import TALK as TWO_LANES

    recorded = record_book(tmp_path, TWO_LANES)
    with RecordingReader(recorded.path) as reader:
        conversation = Conversation.load(reader)
    hashes = set()
    for seed in hash_seeds(count):
        run = replay(recorded.path, "--order", "recorded", PYTHONHASHSEED=seed)
        received = play_randomly(run, conversation, random.Random(seed))
        assert run.wait() == 0
        hashes.add(hashlib.sha256(received).hexdigest())
    assert hashes == {hashlib.sha256(conversation.whole).hexdigest()}
    recorded.close()


def test_the_scripted_client_plays_every_recording(
    acp_proxy: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """`acp_proxy.client` finds no difference if its agent is a replay of the recording it plays."""
    for name in RECORDINGS:
        recording = str(ROOT / "recordings" / f"{name}.db")
        words = [recording, "--", str(acp_proxy), "replay", recording]
        assert (scripted_client(words), capfd.readouterr()) == (0, ("", "")), name


def test_the_scripted_client_is_a_program(acp_proxy: Path) -> None:
    """`python -m acp_proxy.client` plays the client of a recording."""
    recording = str(ROOT / "recordings" / "hello.db")
    result = run_client(recording, str(acp_proxy), "replay", recording)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


def test_the_scripted_client_reports_a_changed_agent(acp_proxy: Path) -> None:
    """If the agent differs from the recording, `acp_proxy.client` exits with 1."""
    hello, tour = (str(ROOT / "recordings" / f"{name}.db") for name in ("hello", "tour"))
    other = run_client(tour, str(acp_proxy), "replay", hello)
    assert other.returncode == 1
    assert b"the agent sent a line that was not recorded at this point" in other.stderr
    gone = run_client(hello, "true")
    assert gone.returncode == 1
    assert b"the agent left before it had sent everything" in gone.stderr


def test_the_scripted_client_prints_its_usage() -> None:
    """Without an agent's command, `acp_proxy.client` prints its usage."""
    result = subprocess.run(
        [sys.executable, "-m", "acp_proxy.client", "x"], capture_output=True, check=False
    )
    assert (result.returncode, result.stderr.count(b"\n")) == (2, 1)


def run_client(recording: str, *command: str) -> Any:
    """Runs `python -m acp_proxy.client`, and returns the result."""
    return subprocess.run(
        [sys.executable, "-m", "acp_proxy.client", recording, "--", *command],
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
