"""Tests commands that read a recording while it is still being recorded."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.record import indexing
from tests.integration.processes import DEADLINE_S, wait_until
from tests.integration.puppet_talk import PuppetTalk, environment_in, start, watch
from tests.support.command_line import run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.fork_server import ForkServer


class Follower:
    """A running ``log --follow``, whose lines the test reads one by one."""

    def __init__(self, fork_server: ForkServer, *arguments: str | Path, home: Path) -> None:
        words = ["inspect", "log", "--follow", *arguments]
        self.process, stdin, self._stdout, self._stderr = start(
            fork_server, words, home=home, env=environment_in(home)
        )
        stdin.close()
        self._watchdog = watch(self.process)
        self.lines: list[bytes] = []
        self.farewell = f"acp-proxy: the recording has ended: {arguments[-1]}\n"

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.cancel()
        self.process.kill()
        self.process.wait()
        self._stdout.close()
        self._stderr.close()

    def wait_for(self, words: str) -> None:
        """Reads lines until a line contains these words."""
        while True:
            line = self._stdout.readline()
            assert line, f"expected {words!r}, got the end: {self._stderr.read().decode()}"
            self.lines.append(line)
            if words in line.decode():
                return

    def end(self) -> int:
        """Waits until the command ends by itself, and returns its exit code."""
        self.lines += self._stdout.readlines()
        assert self._stderr.read().decode() == self.farewell
        return self.process.wait(DEADLINE_S)


def numbers(lines: list[bytes]) -> list[int]:
    """Returns the frame numbers in lines of JSON."""
    return [json.loads(line)["seq"] for line in lines]


def test_each_chunk_is_shown_while_the_turn_runs(fork_server: ForkServer, tmp_path: Path) -> None:
    """`log --follow` prints each chunk while the turn is still running."""
    path = tmp_path / "x.db"
    with PuppetTalk(fork_server, "-o", path, home=tmp_path) as conversation:
        conversation.stream("hello")
        with Follower(fork_server, "--json", path, home=tmp_path) as follower:
            for number in range(15):
                conversation.stream(f"chunk-{number}-")
                follower.wait_for(f"chunk-{number}- 0")
            outcome = conversation.end()
            assert follower.end() == 0
    assert outcome.is_unharmed
    assert numbers(follower.lines) == list(range(1, len(follower.lines) + 1))
    everything = run("inspect", "log", "--json", path, home=tmp_path).stdout
    assert b"".join(follower.lines).decode() == everything


def test_following_continues_when_the_log_is_indexed(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    """`log --follow` prints each frame once, even if the frame is indexed meanwhile."""
    path = tmp_path / "x.db"
    with PuppetTalk(fork_server, "-o", path, home=tmp_path) as conversation:
        conversation.stream("first")
        with (
            Follower(fork_server, "--json", path, home=tmp_path) as early,
            Follower(fork_server, "--raw", path, home=tmp_path) as raw,
        ):
            early.wait_for("first 0")
            raw.wait_for("first 0")
            wait_until(lambda: indexed(path) > 0, "rows")
            conversation.stream("second", times=50)
            early.wait_for("second 49")
            wait_until(lambda: indexed(path) > 50, "rows")
            with Follower(fork_server, "--json", path, home=tmp_path) as late:
                late.wait_for("second 49")
                conversation.stream("third")
                for follower in (early, late, raw):
                    follower.wait_for("third 0")
                outcome = conversation.end()
                assert [early.end(), late.end(), raw.end()] == [0, 0, 0]
    assert outcome.is_unharmed
    assert early.lines == late.lines
    assert numbers(early.lines) == list(range(1, len(early.lines) + 1))
    sent = [line for line in raw.lines if b'"session/update"' in line]
    assert b"".join(sent) == outcome.received


@pytest.mark.slow
def test_following_continues_when_the_log_is_emptied(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    """If the recorder empties its capture log, `log --follow` continues without a gap."""
    path, log = tmp_path / "x.db", tmp_path / "x.db.log"
    with PuppetTalk(fork_server, "-o", path, home=tmp_path) as conversation:
        conversation.stream("first")
        with Follower(fork_server, "--json", path, home=tmp_path) as follower:
            for number in range(3):
                conversation.stream(f"round-{number}-" + "x" * 1000, times=indexing.TRIM // 1000)
                follower.wait_for("x" * 1000 + f" {indexing.TRIM // 1000 - 1}")
                wait_until(lambda: log.stat().st_size < 1000, "the log to be emptied")
                conversation.stream(f"between-{number}-")
                follower.wait_for(f"between-{number}- 0")
            outcome = conversation.end()
            assert follower.end() == 0
    assert outcome.is_unharmed
    assert numbers(follower.lines) == list(range(1, len(follower.lines) + 1))
    messages = [json.loads(line).get("message", {}) for line in follower.lines]
    updates = [m for m in messages if m.get("method") == "session/update"]
    assert updates == [json.loads(line) for line in outcome.received.splitlines()]


def test_a_summary_includes_the_newest_frame(fork_server: ForkServer, tmp_path: Path) -> None:
    """`show` of a running recording includes the newest frame."""
    path = tmp_path / "x.db"
    with PuppetTalk(fork_server, "-o", path, home=tmp_path) as conversation:
        for number in range(1, 5):
            conversation.stream("chunk", stderr=f"line {number}\n")
            summary = wait_until(partial(shown_with, path, number), "the last line")
            assert summary["live"] is True
            assert summary["recording"]["state"] == "recording"
            assert summary["frames"] == {"stderr": number, "to-agent": number, "to-client": number}
            assert summary["stderr_tail"][-1] == f"line {number}"
        listed = run("inspect", "list", tmp_path, home=tmp_path).stdout
        assert " running " in listed
        assert " 12 " in listed
        assert run("inspect", "show", path, home=tmp_path).stderr == ""
        outcome = conversation.end()
    assert outcome.is_unharmed
    assert shown(path)["live"] is False


def test_an_unanswered_prompt_is_shown_as_open(fork_server: ForkServer, tmp_path: Path) -> None:
    """While an agent works on a prompt, `show` says that the client waits."""
    hang = ["/bin/sh", "-c", "read line; echo '{\"half\": '; read line; exit 7"]
    with PuppetTalk(fork_server, "-o", "x.db", home=tmp_path, command=hang) as conversation:
        conversation.write(
            b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}\n'
        )
        path = tmp_path / "x.db"
        wait_until((tmp_path / "x.db.log").exists, "a log")
        wait_until(lambda: shown(path)["frames"].get("to-client"), "half an answer")
        (waiting,) = shown(path)["unanswered"]
        assert (waiting["direction"], waiting["method"]) == ("to-agent", "session/prompt")
        conversation.end()


def test_following_ends_when_the_recorder_is_killed(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    """If a recorder is killed, `log --follow` prints the last frames and ends."""
    path = tmp_path / "x.db"
    with PuppetTalk(fork_server, "-o", path, home=tmp_path) as conversation:
        conversation.stream("first")
        with Follower(fork_server, "--json", path, home=tmp_path) as follower:
            follower.wait_for("first 0")
            conversation.stream("last")
            conversation.process.kill()
            assert follower.end() == 0
    assert (
        "last 0" in json.loads(follower.lines[-1])["message"]["params"]["update"]["content"]["text"]
    )
    assert numbers(follower.lines) == list(range(1, len(follower.lines) + 1))
    assert shown(path)["recording"]["state"] == "incomplete"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.db"]


def test_readers_at_the_end_leave_one_plain_file(fork_server: ForkServer, tmp_path: Path) -> None:
    """If several `log --follow` read a recording until its end, only the database file remains."""
    path = tmp_path / "x.db"
    with (
        PuppetTalk(fork_server, "-o", path, home=tmp_path) as conversation,
        contextlib.ExitStack() as stack,
    ):
        conversation.stream("first")
        wait_until(lambda: indexed(path) > 0, "rows")
        followers = [
            stack.enter_context(Follower(fork_server, path, home=tmp_path)) for _ in range(3)
        ]
        for follower in followers:
            follower.wait_for("first 0")
        conversation.stream("last")
        conversation.end()
        for follower in followers:
            assert follower.end() == 0
        assert len({b"".join(follower.lines) for follower in followers}) == 1
    run("inspect", "show", path, home=tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.db"]


def test_following_can_be_stopped(fork_server: ForkServer, tmp_path: Path) -> None:
    """Ctrl-C ends `log --follow` with code 130."""
    with PuppetTalk(fork_server, "-o", "x.db", home=tmp_path) as conversation:
        conversation.stream("first")
        with Follower(fork_server, "latest.db", home=tmp_path) as nobody:
            assert nobody.process.wait(DEADLINE_S) == 2
        with Follower(fork_server, tmp_path / "x.db", home=tmp_path) as follower:
            follower.wait_for("first 0")
            follower.process.send_signal(signal.SIGINT)
            follower.farewell = ""
            assert follower.end() == 130
        assert conversation.end().is_unharmed


def indexed(path: Path) -> int:
    """Returns the number of frames in the database."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as result:
            return int(result.execute("SELECT count(*) FROM frames").fetchone()[0])
    except sqlite3.Error:
        return 0


def shown_with(path: Path, lines: int) -> dict[str, Any] | None:
    """Returns the output of ``show --json`` if it counts so many lines of stderr, or None."""
    summary = shown(path)
    return summary if summary["frames"].get("stderr") == lines else None


def shown(path: Path) -> dict[str, Any]:
    """Returns the output of ``show --json`` for a recording."""
    result = run("inspect", "show", "--json", path, home=path.parent)
    assert result.exit_code == 0, result.stderr
    summary: dict[str, Any] = json.loads(result.stdout)
    return summary
