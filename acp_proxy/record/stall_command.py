"""Runs the command of ``record --on-stall`` when the agent is silent for too long.

The recording is read only while the agent sends nothing, so a stream of chunks is not delayed. The
reader sees the whole log, including the part that is not indexed yet.

The command has its own process group with a guardian, like an agent (`process_groups`). So the
command is killed when our process ends, even by SIGKILL.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic_ns

import trio

from acp_proxy.record.capture.log_writer import CaptureLog
from acp_proxy.record.capture.process_groups import OwnGroup, Program, reap
from acp_proxy.record.capture.record_options import RecordOptions
from acp_proxy.record.capture.relay import Relay
from acp_proxy.record.capture.stdio import warn

LONGEST = 30.0
"""Seconds after which the command and its descendants are killed."""
_LOOK, _SOON, _QUIET = 1.0, 0.1, 0.5
"""Times in seconds: the longest and the shortest pause between two looks at the recording, and the
least silence of the agent before a look."""


async def run_at_stalls(relay: Relay, options: RecordOptions, path: Path) -> None:
    """Runs the command once for each silence that is too long, until cancelled.

    Args:
        relay: the relay.
        options: the options of the command line.
        path: the recording.
    """
    command, log, run = options.on_stall or [], relay.log, trio.to_thread.run_sync
    pause = max(_SOON, min(_LOOK, options.stall))
    with ExitStack() as files:
        async with trio.open_nursery() as nursery:
            try:
                look = await run(_open, files, path, options.stall)
                while not (isinstance(log, CaptureLog) and log.has_gap):
                    await trio.sleep(pause)
                    is_quiet = monotonic_ns() - relay.to_client.last_ns >= min(_QUIET, pause) * 1e9
                    if is_quiet and (sentence := await run(look, monotonic_ns())):
                        nursery.start_soon(run_command, command, sentence)
            except Exception as e:  # the conversation goes on
                warn(f"--on-stall starts no more commands: {type(e).__name__}: {e}")


def _open(files: ExitStack, path: Path, limit_s: float) -> Callable[[int], str]:
    """Opens the recording, and returns a function that looks for a silence that is too long.

    The function returns a sentence about the silence, or an empty text.
    """
    from acp_proxy.check.judgement import LiveWatch  # late: it takes a while, in a thread
    from acp_proxy.store.reader import RecordingReader

    reader = files.enter_context(RecordingReader(path))
    watch = LiveWatch(reader, limit_s)

    def look(now_ns: int) -> str:
        reader.refresh()
        return (watch.look(now_ns) or ("", ""))[1]

    return look


async def run_command(command: list[str], sentence: str) -> None:
    """Runs a command with a sentence on its standard input; its output is discarded.

    The command's process group is killed after `LONGEST` seconds, or when the task is cancelled.

    Args:
        command: the command, which is started without a shell.
        sentence: the sentence.
    """
    for inherited in Path("/dev/fd").iterdir():  # our parent may have left us some
        with suppress(OSError):
            os.set_inheritable(int(inherited.name), False)
    given, ours = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    try:
        os.write(ours, f"{sentence}\n".encode())
        program = Program(command, dict(os.environ), set(), (given, null, null))
        group, pid = OwnGroup.start(program)
    except OSError as e:
        warn(f"cannot run {command[0]!r} of --on-stall: {e.strerror}")
        return
    finally:
        for fd in (given, ours, null):
            os.close(fd)
    try:
        await trio.sleep(LONGEST)
    finally:
        group.end()
        reap(pid)
