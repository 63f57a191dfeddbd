"""The command of ``--on-stall`` runs once for each silence, and is ended with the recorder."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import trio
import trio.testing

from acp_proxy.record import stall_command
from acp_proxy.record.capture.record_options import RecordOptions
from acp_proxy.record.stall_command import run_at_stalls, run_command
from acp_proxy.recording.log_format import Log
from tests.support.log_writer import ORIGIN_NS, LogWriter, handshake, request, text, update

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from trio.testing import MockClock

    from acp_proxy.record.capture.relay import Relay

S = 10**9
LIMIT_S = 120.0


async def at_once(function: Callable[..., Any], *args: Any) -> Any:
    """Runs a function in this thread, so that the mock clock does not advance."""
    return function(*args)


class Simulation:
    """Stands for a recorder on the mock clock, and notes the commands that it runs."""

    def __init__(self, path: Path, clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
        self._clock = clock
        self.log = LogWriter(path)
        self.to_client = SimpleNamespace(last_ns=ORIGIN_NS)
        self.ran: list[tuple[float, str]] = []
        self._began = clock.current_time()
        monkeypatch.setattr(trio.to_thread, "run_sync", at_once)
        monkeypatch.setattr(stall_command, "monotonic_ns", self._now_ns)
        monkeypatch.setattr(stall_command, "run_command", self._run)

    def _now_ns(self) -> int:
        return ORIGIN_NS + int((self._clock.current_time() - self._began) * S)

    async def _run(self, command: list[str], sentence: str) -> None:
        assert command == ["notify", "the agent hangs"]
        self.ran.append(((self._now_ns() - ORIGIN_NS) / S, sentence))

    def prompt(self) -> None:
        """Records that the client prompts."""
        self.log.t_ns = self._now_ns() - ORIGIN_NS
        self.log.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))

    def speak(self) -> None:
        """Records that the agent streams a piece of text."""
        self.log.t_ns, self.to_client.last_ns = self._now_ns() - ORIGIN_NS, self._now_ns()
        self.log.to_client(update("s", "agent_message_chunk", content=text("…")))

    async def supervise(self, log: object = None) -> None:
        """Runs the task that looks for silences, until it is cancelled."""
        values = {"on_stall": ["notify", "the agent hangs"], "stall": LIMIT_S}
        relay = SimpleNamespace(log=log or Log(), to_client=self.to_client)
        options = RecordOptions(["agent"], values)
        await run_at_stalls(cast("Relay", relay), options, self.log.path)


async def test_the_command_runs_once_for_each_silence(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`record --on-stall` runs its command once for each stall."""
    simulation = Simulation(tmp_path / "x.db", autojump_clock, monkeypatch)
    handshake(simulation.log)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(simulation.supervise)
        await trio.sleep(1000)
        simulation.prompt()
        await trio.sleep(50)
        simulation.speak()
        await trio.sleep(1000)
        simulation.speak()
        await trio.sleep(LIMIT_S - 1)
        simulation.speak()
        await trio.sleep(1000)
        nursery.cancel_scope.cancel()
    assert not simulation.log.path.exists()
    moments = [moment for moment, _ in simulation.ran]
    due = [1000 + 50 + LIMIT_S, 2050 + 2 * LIMIT_S - 1]
    assert len(moments) == 2
    assert all(0 <= moment - at <= 2 for moment, at in zip(moments, due, strict=True))
    assert all('prompt #4 open: "go"' in sentence for _, sentence in simulation.ran)
    simulation.log.abandon()


async def test_a_failure_ends_only_the_alarm(
    tmp_path: Path,
    autojump_clock: MockClock,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """If `record --on-stall` cannot read the recording, it says so on stderr; recording goes on."""
    simulation = Simulation(tmp_path / "x.db", autojump_clock, monkeypatch)
    simulation.log.log_path.unlink()
    await simulation.supervise()
    complaint = "acp-proxy: --on-stall starts no more commands: NotARecording: "
    assert capfd.readouterr().err.startswith(complaint)
    simulation.log.abandon()


def open_files() -> int:
    """Returns the number of open file descriptors of this process."""
    return len([*Path("/dev/fd").iterdir()])


async def test_a_command_gets_only_the_sentence(tmp_path: Path) -> None:
    """The command of `record --on-stall` gets a sentence about the stall on stdin."""
    inherited, ours = os.pipe()
    os.set_inheritable(ours, True)
    place = tmp_path / "got"
    script = 'cat >"$1.new"; ls /proc/self/fd >>"$1.new"; grep SigBlk /proc/self/status >>"$1.new"'
    command = ["/bin/sh", "-c", f'exec 9>&-; {script}; mv "$1.new" "$1"; echo loud', "sh"]
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_command, [*command, str(place)], "agent silent")
            with trio.fail_after(60):
                while not place.exists():
                    await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.close(inherited)
        os.close(ours)
    sentence, *fds, blocked = place.read_text().splitlines()
    assert sentence == "agent silent"
    assert fds == ["0", "1", "2", "3"], "3 is the directory that ls reads"
    assert int(blocked.split()[1], 16) == 0


async def test_a_command_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the command of `record --on-stall` runs too long, it is killed with its children."""
    before = open_files()
    writer = tmp_path / "alive"
    os.mkfifo(writer)
    reading = os.open(writer, os.O_RDONLY | os.O_NONBLOCK)
    command = ["/bin/sh", "-c", 'exec 3>"$1"; echo up >&3; (sleep 1000 &); sleep 1000', "sh"]
    started = trio.Event()

    async def until_up(_: float) -> None:
        await trio.lowlevel.wait_readable(reading)
        assert os.read(reading, 100) == b"up\n"
        started.set()

    monkeypatch.setattr(trio, "sleep", until_up)
    await run_command([*command, str(writer)], "agent silent")
    assert started.is_set()
    with trio.fail_after(60):
        await trio.lowlevel.wait_readable(reading)
    assert os.read(reading, 100) == b"", "nobody holds the pipe any more"
    os.close(reading)
    assert open_files() == before


async def test_a_missing_command_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    """If the command of `record --on-stall` cannot be run, one line on stderr says so."""
    before = open_files()
    await run_command(["/no/such/program"], "agent silent")
    said = "acp-proxy: cannot run '/no/such/program' of --on-stall: No such file or directory\n"
    assert capfd.readouterr().err == said
    assert open_files() == before
