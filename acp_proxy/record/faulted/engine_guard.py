"""Protects the conversation from errors of the fault engine: if faults fail, bytes still flow.

Faults end when no task is left that writes delayed bytes, or after a bug of ours, which is reported
on stderr. From then on, lines pass unchanged, and the engine gets no more frames. The owner of the
guard sends the deliveries that were held back (`EngineGuard.give_up`).
"""

from collections.abc import Callable, Iterator

from acp_proxy.faults.fault import Output, ScheduledWrite
from acp_proxy.faults.fault_engine import FaultEngine
from acp_proxy.protocol.framing import Cut
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.record.capture.stdio import warn


class EngineGuard:
    """A fault engine whose errors do not stop the conversation.

    After the guard has reported a bug, it calls `broken`, which has to call `give_up`.
    """

    def __init__(self, engine: FaultEngine, broken: Callable[[], None]) -> None:
        self._has_given_up = False
        self._engine = engine
        self._broken = broken

    @property
    def fired(self) -> dict[str, int]:
        """How often each rule fired."""
        return self._engine.fired

    def receive(self, direction: Direction, cut: Cut, t_ns: int) -> list[Output]:
        """Returns the outputs that replace a line; the line itself if faults have ended.

        Args:
            direction: the direction of the line.
            cut: the line with its line ending.
            t_ns: when the line was read, in monotonic nanoseconds.
        """
        if not self._has_given_up:
            try:
                return self._engine.receive(direction, cut.raw, cut.newline, t_ns)
            except Exception as e:
                self._fail(e)
        return [ScheduledWrite(direction, cut.raw + cut.newline, t_ns, is_joinable=True)]

    def observe(self, direction: Direction, cut: Cut, t_ns: int) -> None:
        """Passes a line of a direction without faults to the engine, after the line was forwarded.

        Args:
            direction: the direction of the line.
            cut: the line with its line ending.
            t_ns: when the line was read, in monotonic nanoseconds.
        """
        if not self._has_given_up:
            try:
                self._engine.observe(direction, cut.raw, t_ns)
            except Exception as e:
                self._fail(e)

    def end(self, direction: Direction, t_ns: int) -> Iterator[Output]:
        """Ends a direction; yields the deliveries that were held back, then the direction's end.

        Args:
            direction: the direction that ends.
            t_ns: when the end was read, in monotonic nanoseconds.
        """
        if not self._has_given_up:
            try:
                yield from self._engine.end(direction, t_ns)
            except Exception as e:
                self._fail(e)

    def give_up(self, t_ns: int) -> Iterator[ScheduledWrite]:
        """Ends all faults and yields the deliveries held back; a second call yields nothing."""
        if self._has_given_up:
            return
        self._has_given_up = True
        for direction in Direction:
            try:
                for output in self._engine.end(direction, t_ns):
                    if isinstance(output, ScheduledWrite):
                        yield output
            except Exception as e:
                _report(f"held-back deliveries {direction.value} are lost", e)

    def _fail(self, error: Exception) -> None:
        """Reports a bug of ours, which must not stop the conversation, and ends the faults."""
        _report("faults end here", error)
        self._broken()


def _report(what: str, error: Exception) -> None:
    warn(f"internal error, {what}: {type(error).__name__}: {error}")
