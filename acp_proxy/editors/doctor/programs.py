"""Asks an acp-proxy for its version; the program has a few seconds, and writes no bytecode."""

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

from attrs import frozen

TIMEOUT_S = 5.0
_MOST = 4096
_VERSION = re.compile(rb"acp-proxy, version ([!-~]{1,40})\s*")


@frozen
class VersionAnswer:
    """The answer of a program that was asked for its version."""

    version: str | None
    trouble: str = ""
    """Why there is no version, as a phrase to be written after the program's name."""


def ask_version(
    words: Sequence[str], environ: Mapping[str, str], timeout_s: float = TIMEOUT_S
) -> VersionAnswer:
    """Runs a program with ``--version`` and returns its answer.

    Args:
        words: the path of the program, and the arguments before ``--version``.
        environ: the environment of the program.
        timeout_s: seconds after which its process group is killed.
    """
    try:
        process = subprocess.Popen(
            [*words, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd="/",
            start_new_session=True,
        )
    except OSError as e:
        return VersionAnswer(None, _why_not_started(words[0], e))
    assert process.stdout is not None
    with process.stdout:
        deadline = time.monotonic() + timeout_s
        try:
            text = _read(process.stdout.fileno(), deadline)
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return VersionAnswer(None, f"did not answer --version within {timeout_s:g} s")
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if code:
        how = f"was ended by signal {-code}" if code < 0 else f"exits with {code}"
        return VersionAnswer(None, f"{how} when it is asked for --version")
    match = _VERSION.fullmatch(text)
    if match is None:
        return VersionAnswer(None, "does not answer --version as acp-proxy does")
    return VersionAnswer(match[1].decode("ascii"))


def _read(fd: int, deadline: float) -> bytes:
    """Returns the bytes up to the end of the stream, the size limit or the deadline."""
    text = b""
    while len(text) < _MOST:
        if not select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
            break
        piece = os.read(fd, _MOST)
        if not piece:
            break
        text += piece
    return text


def _why_not_started(program: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and os.path.lexists(program):
        return "cannot start: the interpreter of its first line was not found"
    return f"cannot start: {error.strerror}"
