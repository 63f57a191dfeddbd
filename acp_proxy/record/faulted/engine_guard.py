"""Protects the conversation from errors of the fault engine: faults may end, and bytes go on.

Faults end when no task keeps time, or for a mistake of ours, which stderr reports. From then on a
line passes as it came, and the engine gets no more frames. The guard knows neither pumps nor
queues: its owner sends what was held (`EngineGuard.give_up`).
"""

from collections.abc import Callable, Iterator

from acp_proxy.faults.fault_effects import Output, ScheduledWrite
from acp_proxy.faults.fault_engine import FaultEngine
from acp_proxy.protocol.framing import Cut
from acp_proxy.protocol.peers import Direction
from acp_proxy.record.capture.stdio import warn


class EngineGuard:
    """A fault engine whose errors stop nothing.

    After it has reported a mistake of ours it calls `broken`, which has to call `give_up`.
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
        """Takes a line; returns what happens in its place: itself, if faults have ended.

        Args:
            direction: where it was going.
            cut: the line.
            t_ns: when it was read, monotonic nanoseconds.
        """
        if not self._has_given_up:
            try:
                return self._engine.receive(direction, cut.raw, cut.newline, t_ns)
            except Exception as e:
                self._fail(e)
        return [ScheduledWrite(direction, cut.raw + cut.newline, t_ns, is_joinable=True)]

    def observe(self, direction: Direction, cut: Cut, t_ns: int) -> None:
        """Takes note of a line that has passed in a direction that no rule can touch.

        Args:
            direction: where it went.
            cut: the line.
            t_ns: when it was read, monotonic nanoseconds.
        """
        if not self._has_given_up:
            try:
                self._engine.observe(direction, cut.raw, t_ns)
            except Exception as e:
                self._fail(e)

    def end(self, direction: Direction, t_ns: int) -> Iterator[Output]:
        """Ends a direction; yields what was held, and the end.

        Args:
            direction: which.
            t_ns: when its end was read, monotonic nanoseconds.
        """
        if not self._has_given_up:
            try:
                yield from self._engine.end(direction, t_ns)
            except Exception as e:
                self._fail(e)

    def give_up(self, t_ns: int) -> Iterator[ScheduledWrite]:
        """Ends all faults, and yields what was held; nothing the second time."""
        if self._has_given_up:
            return
        self._has_given_up = True
        for direction in Direction:
            try:
                for output in self._engine.end(direction, t_ns):
                    if isinstance(output, ScheduledWrite):
                        yield output
            except Exception as e:
                _report(f"what was held back {direction.value} is lost", e)

    def _fail(self, error: Exception) -> None:
        """Reports a mistake of ours, which must not stop the conversation, and ends the faults."""
        _report("faults end here", error)
        self._broken()


def _report(what: str, error: Exception) -> None:
    warn(f"internal error, {what}: {type(error).__name__}: {error}")
