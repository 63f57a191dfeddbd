"""Plays the client or the agent of a captured conversation as a real process.

A capture lists chunks in the order in which a program between client and agent read them. So the
cause of a chunk comes before it. A player writes a chunk as soon as all earlier chunks of the other
side have arrived. Players only count bytes, and know neither messages nor times. A separate thread
reads, so that a player that writes never blocks the other player.

If the agent receives other bytes than recorded, it exits with `TOLD_SOMETHING_ELSE`, and then the
client fails, too. So one run says whether both directions arrived byte for byte.

The program imports only the standard library, so it can be run by its path from any directory.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STREAMS = {"c2a": "to-agent", "a2c": "to-client", "stderr": "stderr"}
TOLD_SOMETHING_ELSE = 65
DEADLINE_S = 300.0
CHUNK = 1 << 16


class WrongConversationError(Exception):
    """Raised if the other side sends other bytes than in the capture."""


def capture_lines(path: str | Path) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield each line of a capture with its bytes; only lines of reads have bytes.

    Raises:
        ValueError: a line is not JSON, or its length is not the one that it names.
    """
    with open(path, "rb") as file:
        content = file.read()
    if str(path).endswith(".gz"):
        import gzip  # here, for only two captures need it and every player would pay for it

        content = gzip.decompress(content)
    for number, text in enumerate(content.splitlines(), 1):
        line: dict[str, Any] = json.loads(text)
        if "raw_b64" in line:
            data = base64.b64decode(line["raw_b64"], validate=True)
        else:
            data = line.get("text", "").encode()
        if len(data) != line.get("n", 0):
            raise ValueError(f"{path}:{number}: expected {line.get('n', 0)} bytes, got {len(data)}")
        yield line, data


class Inbox:
    """Reads a descriptor in a thread, and compares the bytes with the recorded ones."""

    def __init__(self, descriptor: int, expected: bytes, *, lenient: bool = False) -> None:
        self._descriptor = descriptor
        self._expected = expected
        self._lenient = lenient
        self._received = 0
        self._ended = False
        self._complaint = ""
        self._changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def wait_for(self, count: int) -> None:
        """Wait until `count` bytes have arrived.

        Raises:
            WrongConversationError: other bytes arrived, or the stream ended before.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._received >= count or self._ended or self._complaint
            )
            self._check()
            if self._received < count:
                raise WrongConversationError(
                    f"expected {count} bytes before the end, got {self._received}"
                )

    def wait_for_end(self) -> None:
        """Wait until the stream has ended; raises like `wait_for` if recorded bytes are missing."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._complaint)
        self.wait_for(0 if self._lenient else len(self._expected))

    def _check(self) -> None:
        if self._complaint:
            raise WrongConversationError(self._complaint)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._descriptor, CHUNK)
            except OSError:
                data = b""
            with self._changed:
                if not data:
                    self._ended = True
                elif not self._lenient and not self._complaint:
                    self._complaint = self._difference(data)
                self._received += len(data)
                self._changed.notify_all()
            if not data:
                return

    def _difference(self, data: bytes) -> str:
        """Return how `data`, the next bytes, differs from the recorded bytes; '' if it is equal."""
        start = self._received
        expected = self._expected[start : start + len(data)]
        if data == expected:
            return ""
        pairs = enumerate(zip(data, expected, strict=False))
        at = next((i for i, (got, wanted) in pairs if got != wanted), len(expected))
        if at == len(expected):
            return f"expected {len(self._expected)} bytes, got more: {data[at : at + 40]!r}"
        return (
            f"at byte {start + at} expected {expected[at : at + 40]!r}, got {data[at : at + 40]!r}"
        )


def write_all(descriptor: int, data: bytes) -> None:
    """Write all data, even if the system takes only a part at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def recorded(capture: str, stream: str) -> bytes:
    """Return all recorded bytes of a stream."""
    return b"".join(
        data for line, data in capture_lines(capture) if STREAMS.get(line.get("dir", "")) == stream
    )


def play_agent(capture: str, *, lenient: bool) -> int:
    """Play the agent on stdin, stdout and stderr; return its exit code, or end by its signal."""
    inbox = Inbox(0, recorded(capture, "to-agent"), lenient=lenient)
    due = 0
    for line, data in capture_lines(capture):
        match STREAMS.get(line.get("dir", "")), line.get("event"):
            case "to-agent", None:
                due += len(data)
            case "to-agent", "eof":
                inbox.wait_for_end()
            case "to-client", None:
                inbox.wait_for(due)
                write_all(1, data)
            case "stderr", None:
                inbox.wait_for(due)
                with contextlib.suppress(OSError):  # whoever does not read it still gets the rest
                    write_all(2, data)
            case None, "exit":
                inbox.wait_for(due)
                code: int = line["returncode"]
                if code < 0:
                    die_of(-code)
                return code
    raise ValueError(f"{capture}: expected an exit at the end, found none")


def die_of(signum: int) -> NoReturn:
    """End this process by a signal, even if the signal is ignored or blocked."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):  # SIGKILL and SIGSTOP cannot be set
        signal.signal(signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signum])
    os.kill(os.getpid(), signum)
    raise AssertionError(f"expected to die of signal {signum}, still alive")


def play_client(capture: str, command: list[str], deadline_s: float) -> int:
    """Play the client of `command`; return 0 if exactly the recorded bytes arrived."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    assert process.stdout is not None
    signal.signal(signal.SIGALRM, _too_late)
    signal.setitimer(signal.ITIMER_REAL, deadline_s)
    try:
        inbox = Inbox(process.stdout.fileno(), recorded(capture, "to-client"))
        due = 0
        for line, data in capture_lines(capture):
            match STREAMS.get(line.get("dir", "")), line.get("event"):
                case "to-client", None:
                    due += len(data)
                case "to-agent", None:
                    inbox.wait_for(due)
                    tell(process.stdin.fileno(), data, inbox)
                case "to-agent", "eof":
                    inbox.wait_for(due)
                    process.stdin.close()
        inbox.wait_for_end()
        process.stdin.close()
        if process.wait() == TOLD_SOMETHING_ELSE:
            raise WrongConversationError("the agent was told something else than was recorded")
    except BaseException:
        process.kill()
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return 0


def tell(descriptor: int, data: bytes, inbox: Inbox) -> None:
    """Write `data`; if the agent has gone, raise the error in its earlier output, if any."""
    try:
        write_all(descriptor, data)
    except BrokenPipeError:
        inbox.wait_for_end()
        raise WrongConversationError("the agent reads no more") from None


def _too_late(_signum: int, _frame: object) -> NoReturn:
    raise WrongConversationError("expected the conversation to end in time, it did not")


def main(arguments: list[str]) -> int:
    """Play the client or the agent, as the arguments say, and return the exit code."""
    parser = argparse.ArgumentParser(prog="player", description=__doc__.partition("\n")[0])
    sides = parser.add_subparsers(dest="side", required=True)
    agent = sides.add_parser("agent", help="behave as the captured agent")
    agent.add_argument("--lenient", action="store_true", help="count the client's bytes only")
    agent.add_argument("capture")
    client = sides.add_parser("client", help="start a command and behave as its captured client")
    client.usage = "player client [--deadline S] CAPTURE -- COMMAND..."
    client.add_argument("--deadline", type=float, default=DEADLINE_S, metavar="S")
    client.add_argument("capture")
    # Split by hand: versions of argparse differ in which `--` they leave in the command.
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options, command = parser.parse_args(arguments[:split]), arguments[split + 1 :]
    if (options.side == "client") != bool(command):
        parser.error("expected a command after -- for the client, and none for the agent")
    try:
        if options.side == "agent":
            return play_agent(options.capture, lenient=options.lenient)
        return play_client(options.capture, command, options.deadline)
    except (WrongConversationError, OSError, ValueError) as reason:
        with contextlib.suppress(OSError):
            write_all(2, f"player: {options.side}: {reason}\n".encode())
        return TOLD_SOMETHING_ELSE if options.side == "agent" else 1


if __name__ == "__main__":
    # Not sys.exit: the reading thread may be blocked in a read that nothing can cancel.
    os._exit(main(sys.argv[1:]))
