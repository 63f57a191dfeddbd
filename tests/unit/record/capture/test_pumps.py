"""The end of a recorded stream is logged before the receiver can see it."""

from __future__ import annotations

import os
import select

from acp_proxy.record.capture.pumps import Pump
from acp_proxy.recording.log_format import END, TO_AGENT, Log


class _Log(Log):
    """A log that notes whether the receiver could see the end of a stream when it was logged."""

    def __init__(self, reader: int) -> None:
        self.ends: list[tuple[str, bool]] = []
        self._reader = reader

    def event(self, kind: int, fields: dict[str, str | int | list[str]], stream: int = 0) -> bool:
        """Notes the end of a stream."""
        assert (kind, stream) == (END, TO_AGENT)
        self.ends.append((str(fields["reason"]), _sees_end(self._reader)))
        return True


def _sees_end(fd: int) -> bool:
    poller = select.poll()
    poller.register(fd, 0)
    return any(event & select.POLLHUP for _, event in poller.poll(0))


def test_the_end_of_a_stream_is_logged_before_its_reader_sees_it() -> None:
    """A recorder logs the end of a stream before the receiver can see the end."""
    (source, client), (reader, sink) = os.pipe(), os.pipe()
    os.close(client)
    log = _Log(reader)
    Pump(TO_AGENT, source, sink, log).run()
    assert log.ends == [("end of file", False)]
    assert _sees_end(reader)
    os.close(reader)
