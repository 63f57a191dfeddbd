"""Pumps: threads that each read one stream, log the bytes, and then forward them."""

import os
import time

from acp_proxy.base.limits import CHUNK
from acp_proxy.record.capture.latch import Latch
from acp_proxy.record.capture.stdio import warn
from acp_proxy.recording.log_format import END, STDERR, STREAM_NAMES, UNDELIVERED, Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_proxy.record.capture.agent_process import AgentProcess


class Interceptor:
    """Makes plain pumps; its subclass in `faulted.fault_runner` makes pumps with faults."""

    streams: "tuple[int, ...]" = ()
    """The streams whose pumps do not start until the supervisor has adopted the relay."""

    def __init__(self) -> None:
        self.fields: dict[str, str | int | list[str]] = {}
        """Fields that the interceptor adds to the first record of the log."""

    def pump(self, stream: int, source: int, sink: int, log: Log) -> "Pump":
        """Makes the pump of a stream.

        Args:
            stream: ``TO_AGENT``, ``TO_CLIENT`` or ``STDERR`` of `log_format`.
            source: the descriptor to read.
            sink: the descriptor to write to.
            log: the log that every chunk is appended to first.
        """
        return Pump(stream, source, sink, log)

    def attach(self, agent: "AgentProcess", log: Log, origin_ns: int) -> None:
        """Receives the agent's process and the log; called before any pump is made.

        Args:
            agent: the agent's process.
            log: the log.
            origin_ns: when the recording began, by the monotonic clock.
        """

    def give_up(self) -> None:
        """Forwards everything unchanged from now on, because no task writes delayed bytes."""

    def farewell(self) -> None:
        """Writes a final report to stderr, if there is anything to report."""


class Pump:
    """Moves one stream from ``source`` to ``sink`` until either is closed.

    Attributes:
        sink: the descriptor to write to; its number may be reused after the pump has ended.
        in_read: whether the thread waits for its source, and not for a slow reader.
        last_ns: when the latest bytes were read, in monotonic nanoseconds; before the first byte,
            when the pump started.
        source_ended: whether the source ended by itself, and was not closed because of a broken
            sink.
        ended: set when the end of the stream is logged and both descriptors are closed, or when the
            pump is abandoned.
    """

    def __init__(self, stream: int, source: int, sink: int, log: Log) -> None:
        self.stream = stream
        self.in_read = True
        self.last_ns = time.monotonic_ns()
        self.source_ended = False
        self.ended = Latch()
        self._source = source
        self.sink = sink
        self._log = log

    @property
    def name(self) -> str:
        """The stream's name."""
        return STREAM_NAMES[self.stream]

    def run(self) -> None:
        """Relays until the source ends or the sink breaks, logs the reason, and closes both.

        If the sink breaks, the source is closed too, so that the sender gets a broken pipe, as it
        would without us. A full sink blocks the write, and meanwhile nothing is read from the peer.
        """
        try:
            reason = self._relay()
        except BrokenPipeError:
            reason = "the reader is gone"
        except OSError as e:
            reason = os.strerror(e.errno) if e.errno else str(e)
        except Exception as e:  # a bug of ours: the peers see an end of file and do not hang
            reason = f"internal error: {type(e).__name__}: {e}"
            warn(f"{self.name} ends here, {reason}")
        self.in_read = False
        try:  # before both are closed: a peer may exit then, and the log keeps the order
            self._log.event(END, {"reason": reason}, self.stream)
        except Exception as e:
            self._stop_recording(e)
        if self.stream != STDERR:  # this sink is our own stderr
            os.close(self.sink)
        os.close(self._source)
        self.ended.set()

    def abandon(self, reason: str) -> None:
        """Ends the pump although its source does not end. The thread stays in its read."""
        self._log.event(END, {"reason": reason}, self.stream)
        self.ended.set()

    def _relay(self) -> str:
        """Moves bytes until the stream ends; returns the reason of the end.

        Raises:
            OSError: the source or the sink is broken.
        """
        read, write, now = os.read, os.write, time.monotonic_ns
        append: Callable[[int, int, bytes], None] = self._log.append
        stream, source, sink = self.stream, self._source, self.sink
        while True:
            try:
                chunk = read(source, CHUNK)
            except BlockingIOError:
                wait_until_ready(source, writing=False)
                continue
            self.last_ns = t_ns = now()
            if not chunk:
                self.source_ended = True
                return "end of file"
            self.in_read = False
            try:
                append(stream, t_ns, chunk)
            except Exception as e:  # a bug of ours must not stop the conversation
                append = self._stop_recording(e)
            try:
                written = write(sink, chunk)
            except OSError as e:
                written = 0
                if not isinstance(e, BlockingIOError):
                    self._undelivered(len(chunk))
                    raise
            if written != len(chunk):
                self._write_rest(memoryview(chunk)[written:])
            self.in_read = True

    def _stop_recording(self, error: Exception) -> "Callable[[int, int, bytes], None]":
        warn(f"cannot record {self.name} any longer: {error!r}; the conversation goes on")
        return Log().append

    def _write_rest(self, rest: memoryview) -> None:
        while rest:
            try:
                rest = rest[os.write(self.sink, rest) :]
            except BlockingIOError:
                wait_until_ready(self.sink, writing=True)
            except OSError:
                self._undelivered(len(rest))
                raise

    def _undelivered(self, size: int) -> None:
        self._log.event(UNDELIVERED, {"bytes": size}, self.stream)


def wait_until_ready(fd: int, *, writing: bool) -> None:
    """Waits for a descriptor that another process has made non-blocking.

    Args:
        fd: the descriptor, which both processes share.
        writing: whether we want to write to the descriptor, and not to read from it.
    """
    import select

    poller = select.poll()
    poller.register(fd, select.POLLOUT if writing else select.POLLIN)
    poller.poll()
