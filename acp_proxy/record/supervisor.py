"""Supervises a running relay: enforces its deadlines, indexes its log and ends the process.

A task with a clock limits each case that may take too long: an agent that does not stop, an agent
that overstays its client, and descendants that keep the agent's pipes open. The pumps' threads move
bytes even before this module is imported.

An agent overstays its client if all of these are true:

- The client's input has ended.
- No byte moved on any stream for the grace time.
- No request waits for an answer.
- The client is gone: our stdout has no reader any more, or our parent is not the process that
  started us.

A client that only closed its output may wait as long as it likes.

A client may be gone without a sign: our stdout may be a file, or our parent may have been `init`
from the start. Without a sign, the client counts as present.
"""

import contextlib
import fcntl
import gc
import os
import select
import stat
import struct
import termios
import time
from signal import SIGCONT, SIGKILL, SIGTERM

import trio

from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.record.capture.latch import Latch
from acp_proxy.record.capture.log_writer import CaptureLog
from acp_proxy.record.capture.pumps import Pump
from acp_proxy.record.capture.record_options import RecordOptions
from acp_proxy.record.capture.relay import Relay
from acp_proxy.record.indexing import LAST, Indexing
from acp_proxy.recording.log_format import NOTE, STDERR, TO_AGENT, TO_CLIENT

LINGER = 5.0
"""Seconds after the agent's exit that a descendant may keep the output open without writing."""
STALL = 5.0
"""Seconds that a write may wait for its reader before the delay is noted."""
_POLL = 0.25
_LOOK = 1.0
_READER = {TO_AGENT: "the agent", TO_CLIENT: "the client", STDERR: "who reads its stderr"}
_HELD = "held open by a process that has left the agent's group"


def supervise(relay: Relay, options: RecordOptions) -> None:
    """Supervises a relay until it is done, and then ends the process.

    Returns only if a thread of the relay already ends the process.

    Args:
        relay: the relay, whose threads already run.
        options: the options of the command line.
    """
    if not relay.adopt():
        return
    # Objects loaded by now are never freed. If each garbage collection scanned them, it would stop
    # the pumps' threads for longer than a frame takes.
    gc.collect()
    gc.freeze()
    trio.run(_supervise, relay, options)


async def _supervise(relay: Relay, options: RecordOptions) -> None:
    indexing = None
    if isinstance(relay.log, CaptureLog):
        indexing = Indexing(relay.log)
    async with trio.open_nursery() as nursery:
        if indexing is not None:
            nursery.start_soon(indexing.run)
            if options.keep is not None:
                from acp_proxy.record.pruning import make_room

                nursery.start_soon(make_room, relay.log, options.keep, indexing.path)
            if options.check:
                from acp_proxy.record.record_check import prepare

                nursery.start_soon(prepare)
            if options.on_stall is not None:
                from acp_proxy.record.stall_command import run_at_stalls

                nursery.start_soon(run_at_stalls, relay, options, indexing.path)
        nursery.start_soon(enforce_stop, relay, options.grace)
        nursery.start_soon(end_overstay, relay, indexing, options.grace)
        nursery.start_soon(end_lingering, relay)
        nursery.start_soon(note_stalls, relay)
        if relay.interceptor.streams:
            from acp_proxy.record.faulted import fault_clock

            runner = fault_clock.runner_of(relay)
            nursery.start_soon(fault_clock.keep_time, runner)
            relay.start_intercepted()
        await until(relay.drained)
        if relay.interceptor.streams:
            await fault_clock.finish_stderr(runner, LINGER)
        nursery.cancel_scope.cancel()
    relay.close()
    if indexing is not None:
        deadline = time.monotonic() + LAST
        indexing.finish()
        if options.check:
            from acp_proxy.record.record_check import report_findings

            report_findings(indexing.path, deadline)
    # An abandoned pump is still reading; stdout is closed only now.
    relay.leave()


async def until(latch: Latch) -> None:
    """Waits for a latch that a thread sets."""
    event = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def report() -> None:
        with contextlib.suppress(trio.RunFinishedError):
            token.run_sync_soon(event.set)

    latch.then(report)
    await event.wait()


async def enforce_stop(relay: Relay, grace: float) -> None:
    """Kills an agent that still runs some seconds after a signal asked it to stop.

    A client may wait for its agent without reading the agent's output. So after one more grace
    time, the output is abandoned.

    Args:
        relay: the relay, which has already forwarded the signal.
        grace: the grace time in seconds.
    """
    await until(relay.stopping)
    await _kill_after(relay, grace, f"still there {grace:g} s after it was told to stop")
    with trio.move_on_after(grace):
        await until(relay.drained)
    for pump in (relay.to_client, relay.stderr):
        _abandon(pump, "not read by the client, which had told us to stop")


async def end_overstay(relay: Relay, indexing: Indexing | None, grace: float) -> None:
    """Ends an agent that overstays its client.

    Args:
        relay: the relay.
        indexing: the indexer, for the open requests; None if nothing is recorded.
        grace: seconds of silence before the agent gets SIGTERM, and seconds from then to SIGKILL.
    """
    await until(relay.to_agent.ended)
    if not relay.to_agent.source_ended:
        return
    while True:
        await _until_idle(relay.pumps, grace)
        is_gone, is_unread = look_for_client(relay)
        open_request = None
        if is_gone and indexing is not None:
            ask = indexing.is_open_request
            open_request = await trio.to_thread.run_sync(ask, Direction.TO_AGENT)
        why = why_overstaying(is_gone=is_gone, is_unread=is_unread, open_request=open_request)
        if why is not None:
            break
        await trio.sleep(_POLL)
    if not relay.agent.exited.is_set:
        relay.end_reason = "the agent overstayed its client"
        relay.send_signal(SIGTERM, f"its client left {grace:g} s ago and {why}")
        relay.agent.send_signal(SIGCONT)
        await _kill_after(relay, grace, "it did not end on SIGTERM")


def look_for_client(relay: Relay) -> tuple[bool, bool]:
    """Returns whether the client has left for good, and whether nobody reads our output to it.

    The client has left for good if nobody reads our output, or if the process that started us has
    ended.
    """
    is_unread = _has_no_reader(relay.to_client)
    return is_unread or os.getppid() != relay.parent, is_unread


def why_overstaying(*, is_gone: bool, is_unread: bool, open_request: bool | None) -> str | None:
    """Returns why an idle agent overstays its client; None if the agent does not overstay.

    Args:
        is_gone: whether the client has left for good.
        is_unread: whether nobody can read what we write to the client.
        open_request: whether the agent has to answer a request of the client; None if unknown. A
            request does not count if nobody could read the answer.
    """
    if is_gone and open_request is False:
        return "no request is open"
    return "nobody reads its output" if is_unread else None


def _has_no_reader(pump: Pump) -> bool:
    """Whether no process reads what a pump writes, as far as the system shows this.

    False if the agent closed its own output, since the client may still wait for the agent's exit.
    """
    if pump.ended.is_set:
        return not pump.source_ended
    try:
        poller = select.poll()
        poller.register(pump.sink, 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poller.poll(0))
    except (OSError, ValueError):
        return False


async def end_lingering(relay: Relay) -> None:
    """Ends output that a descendant keeps open after the agent has exited.

    The time limit runs only while the pumps wait for the descendant's output, and not while they
    wait for a slow client. So a slow client gets all output.
    """
    await until(relay.agent.exited)
    outputs = (relay.to_client, relay.stderr)
    await _until_idle(outputs, LINGER, since=time.monotonic_ns())
    relay.kill_holders(f"a descendant held the agent's output open for {LINGER:g} s")
    with trio.move_on_after(1):
        await until(relay.drained)
    for pump in outputs:
        _abandon(pump, _HELD)


async def note_stalls(relay: Relay) -> None:
    """Notes in the log when a peer stops reading, and when it reads again.

    A chunk that was read long ago and is still being written shows that the peer does not read.
    """
    stalled: dict[Pump, int] = {}
    while True:
        await trio.sleep(_LOOK)
        for pump in relay.pumps:
            since, now = pump.last_ns, time.monotonic_ns()
            begun = stalled.get(pump)
            if begun is not None and (pump.in_read or pump.ended.is_set or since != begun):
                del stalled[pump]
                if not pump.ended.is_set:
                    _note_stall(
                        relay, pump, "resumed", begun, f"reads again after {_s(now - begun)}"
                    )
            elif begun is None and _is_stalled(pump, now):
                stalled[pump] = since
                _note_stall(relay, pump, "stalled", since, f"has not read for {_s(now - since)}")


def _is_stalled(pump: Pump, now: int) -> bool:
    if pump.in_read or pump.ended.is_set or now - pump.last_ns < STALL * 1e9:
        return False
    return _unread(pump) != 0  # if 0, we do not wait for the reader


def _note_stall(relay: Relay, pump: Pump, action: str, since: int, what: str) -> None:
    reader = _READER[pump.stream]
    fields: dict[str, str | int | list[str]] = {
        "action": action,
        "reason": f"{reader} {what}",
        "since": since,
    }
    if action == "stalled" and (unread := _unread(pump)):
        fields["bytes"] = unread
    relay.log.event(NOTE, fields, pump.stream)


def _unread(pump: Pump) -> int | None:
    """Returns how many written bytes the reader has not read yet; None if unknown.

    For a socket, the number includes the system's overhead.
    """
    try:
        mode = os.fstat(pump.sink).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return None
        question = termios.FIONREAD if stat.S_ISFIFO(mode) else termios.TIOCOUTQ
        answer = fcntl.ioctl(pump.sink, question, bytes(4))
    except (OSError, ValueError):
        return None
    return int(struct.unpack("i", answer)[0])


def _s(ns: int) -> str:
    return f"{ns / 1e9:.0f} s"


async def _until_idle(pumps: tuple[Pump, ...], seconds: float, since: int = 0) -> None:
    """Waits until the pumps have waited for input for some seconds without reading a byte.

    While a pump waits for a slow reader, the seconds do not run; afterwards they start anew. Pumps
    do not measure how long they wait, so this function checks often.
    """
    while True:
        now, wait = time.monotonic_ns(), _POLL
        if all(pump.in_read for pump in pumps if not pump.ended.is_set):
            idle = (now - max(since, *(pump.last_ns for pump in pumps))) / 1e9
            if idle >= seconds:
                return
            wait = min(_POLL, seconds - idle)
        else:
            since = now
        await trio.sleep(wait)


async def _kill_after(relay: Relay, grace: float, reason: str) -> None:
    with trio.move_on_after(grace):
        await until(relay.drained)
    if not relay.drained.is_set:
        relay.send_signal(SIGKILL, reason)
        await trio.sleep(1)
        for pump in (relay.to_client, relay.stderr):
            if pump.in_read:
                _abandon(pump, _HELD)


def _abandon(pump: Pump, reason: str) -> None:
    if not pump.ended.is_set:
        pump.abandon(reason)
