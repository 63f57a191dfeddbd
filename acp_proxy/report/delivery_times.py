"""When frames that faults made late were due at their receiver.

A recording keeps when a frame was received, and which rules fired at it, but not when it was sent
on. All chance of a plan is derived from its seed, and both are recorded: the fault engine, given
the same frames at the same times, decides the same again. Whether it did is checked against what is
recorded. From the first difference on nothing is known. Where secrets were masked, a frame has not
quite the length that it had, so that a delay by `bandwidth` is not quite the one that it was.
"""

from collections.abc import Iterable

from attrs import define

from acp_proxy.faults.effects import Fired, Output, ScheduledWrite
from acp_proxy.faults.engine import FaultEngine
from acp_proxy.faults.plan import Plan, structure_plan
from acp_proxy.faults.structuring import read_toml
from acp_proxy.protocol.peers import Direction
from acp_proxy.store.checked_values import Row
from acp_proxy.store.fired_faults import has_fired_faults
from acp_proxy.store.reader import RecordingReader


def delivery_delays(reader: RecordingReader) -> dict[int, int]:
    """Returns how much later than they were received frames were due at their receiver.

    Args:
        reader: the recording.

    Returns:
        Nanoseconds by the number of the frame, for frames that were late. Empty without faults, or
        if the plan cannot be read.
    """
    plan = _plan(reader.recording.fault_plan)
    if plan is None or not has_fired_faults(reader):
        return {}
    return _Repetition(plan, reader.recording.seed or 0).delays(reader)


@define
class _MadeLine:
    """A line that a rule has made up."""

    left: bytes
    """What of it is not sent yet."""
    seq: int | None = None
    late_ns: int = 0


class _Repetition:
    """A plan applied once more to the frames of its recording."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self._engine = FaultEngine(plan, seed, 0)
        self._received: list[tuple[int, int]] = []
        """The number and time of each frame."""
        self._delays: dict[int, int] = {}
        self._made: dict[int, list[_MadeLine]] = {}
        """By the frame at which they were made up, in their order."""

    def delays(self, reader: RecordingReader) -> dict[int, int]:
        last = 0
        for row in reader.frames():
            if row["stream"] == "stderr":
                continue
            if _is_made_up(row):
                self._name_made(row["seq"])
                continue
            last = row["t_ns"]
            self._received.append((row["seq"], last))
            newline = row["newline"].encode()
            direction = Direction(row["stream"])
            outputs = self._engine.receive(direction, bytes(row["raw"]), newline, last)
            if _fired(outputs) != _recorded(row):
                break
            self._take(outputs)
        else:
            for direction in Direction:
                self._take(self._engine.end(direction, last))
        lines = (line for made in self._made.values() for line in made)
        made = {line.seq: line.late_ns for line in lines if line.seq and line.late_ns > 0}
        return dict(sorted((self._delays | made).items()))

    def _name_made(self, seq: int) -> None:
        """Takes note of the number of a line that was made up at the last frame."""
        unnamed = (line for line in self._made.get(len(self._received), []) if line.seq is None)
        if (line := next(unnamed, None)) is not None:
            line.seq = seq

    def _take(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            if isinstance(output, Fired) and output.received is None and output.delivered:
                self._made.setdefault(output.frame, []).append(_MadeLine(output.delivered))
            elif isinstance(output, ScheduledWrite):
                self._send(output)

    def _send(self, write: ScheduledWrite) -> None:
        seq, received = self._received[write.frame - 1]
        late = write.due - received
        if not write.is_injected:
            if late > self._delays.get(seq, 0):
                self._delays[seq] = late
            return
        for line in self._made.get(write.frame, []):
            if line.left and line.left.startswith(write.data):
                line.left = line.left[len(write.data) :]
                line.late_ns = late
                return


def _plan(text: str | None) -> Plan | None:
    if not text:
        return None
    try:
        return structure_plan(read_toml(text), "")
    except Exception:  # the text of a recording may be anything
        return None


def _is_made_up(row: Row) -> bool:
    return any(one["made"] for one in row.get("fired") or [])


def _fired(outputs: Iterable[Output]) -> list[str]:
    """The rules that fired at a frame that was received; none where one fired before."""
    fired = (one for one in outputs if isinstance(one, Fired) and not one.is_again)
    return [one.rule for one in fired if one.received is not None]


def _recorded(row: Row) -> list[str]:
    return [one["rule"] for one in row.get("fired") or []]
