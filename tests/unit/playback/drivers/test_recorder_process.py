"""A verification ends orphaned descendants of its recorder, and no other processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
import trio

from acp_proxy.playback.drivers import recorder_process
from acp_proxy.playback.drivers.recorder_process import Orphans, RecorderProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets us take them in")

_LEAVES_ONE = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True,
                         stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid)
"""
_STAYS = "import time; print(flush=True); time.sleep(600)"
_STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {_STAYS}"


def leave_one(what: str) -> int:
    """Makes a child of ours leave a process behind; returns its pid."""
    made = subprocess.run(
        [sys.executable, "-c", _LEAVES_ONE, what], stdout=subprocess.PIPE, check=True, timeout=60
    )
    return int(made.stdout)


@pytest.mark.parametrize("what", [_STAYS, _STUBBORN])
async def test_an_orphan_is_ended(what: str) -> None:
    """`verify` ends a process that its agent has left behind, and reports the process id."""
    with Orphans() as orphans:
        pid = leave_one(what)
        (told,) = await orphans.end(0)
    assert not Path(f"/proc/{pid}").exists()
    assert told.endswith(f"(pid {pid})")


@pytest.mark.parametrize("when", [None, signal.SIGTERM])
async def test_orphans_can_be_killed_at_once(
    when: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a signal stops `verify`, it kills processes that its agent left behind, without a wait."""
    hurried, sent = trio.Event(), []

    def send(pid: int, signum: int) -> None:
        sent.append(signum)
        os.kill(pid, signum)
        if signum == when:
            hurried.set()

    monkeypatch.setattr(recorder_process, "_send", send)
    if when is None:
        hurried.set()
    with Orphans() as orphans:
        pid = leave_one(_STUBBORN)
        (told,) = await orphans.end(600, hurried)
    assert not Path(f"/proc/{pid}").exists()
    assert told.endswith(f"(pid {pid})")
    assert sent == [signum for signum in (when, signal.SIGKILL) if signum is not None]


async def test_our_own_children_are_left_alone() -> None:
    """`verify` ends orphaned processes of its agent, but not its own child processes."""
    with subprocess.Popen([sys.executable, "-c", _STAYS], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with Orphans() as orphans:
            assert await orphans.end(0) == []
        assert child.poll() is None
        child.kill()


async def test_the_subreaper_is_reset() -> None:
    """After `verify` has looked for orphaned processes, it no longer adopts orphaned processes."""
    with Orphans() as orphans:
        pass
    pid = leave_one(_STAYS)
    parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    ended = await orphans.end(0)
    os.kill(pid, signal.SIGKILL)
    assert (int(parent) != os.getpid(), ended) == (True, [])


class _Recorder:
    """A recorder that notes what happens to it; it ends when it is waited for."""

    returncode = None

    def __init__(self) -> None:
        self.noted: list[str] = []
        self.stdin = self.stdout = self

    def send_signal(self, signum: int) -> None:
        self.noted.append(signal.Signals(signum).name)

    async def receive_some(self, _size: int) -> bytes:
        return b""

    async def wait(self) -> None:
        self.noted.append("ended")

    async def aclose(self) -> None:
        self.noted.append("input closed")

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@pytest.mark.parametrize("is_hopeless", [False, True])
async def test_a_hopeless_agent_gets_the_signal_before_the_end_of_its_input(
    *, is_hopeless: bool
) -> None:
    """If `verify` gives up on an agent, it first signals the agent, and then closes its input."""
    recorder = _Recorder()
    process = RecorderProcess(cast("trio.Process", recorder), grace=1)
    process.is_hopeless = is_hopeless
    await process.end()
    first = ["SIGALRM", "ended"] if is_hopeless else ["input closed", "ended"]
    assert recorder.noted == [*first, "input closed"]
