"""What a plan would have done to a recording: the engine gets its frames at their times.

The peers do not react: what they sent is what they sent without the faults.
"""

from collections.abc import Iterable

from attrs import define, field, frozen

from acp_proxy.faults.effects import (
    DirectionEnd,
    ExitEffect,
    Fired,
    Output,
    ScheduledWrite,
    SideEffect,
    SignalEffect,
    StderrEffect,
)
from acp_proxy.faults.engine import FaultEngine
from acp_proxy.faults.plan import Plan
from acp_proxy.protocol.peers import Direction

NEVER = "never arrives"
_MS = 1_000_000


@frozen
class PassedFrame:
    """A frame of a recording."""

    seq: int
    direction: Direction
    t_ns: int
    method: str | None
    kind: str
    raw: bytes
    newline: bytes


@frozen
class FaultHit:
    """What rules made of a frame.

    Attributes:
        rules: those that fired, in order; the one that had stopped the direction before, else.
        delivered: the bytes that arrive in its place; None if it never does.
        late_ms: how much later than in the recording its last byte arrives.
    """

    seq: int
    direction: str
    method: str | None
    kind: str
    rules: tuple[str, ...]
    outcome: str
    delivered: bytes | None
    late_ms: float
    injected: tuple[bytes, ...] = ()
    effects: tuple[str, ...] = ()


@define
class _FrameRecord:
    """What is known of a frame so far."""

    frame: PassedFrame
    rules: list[str] = field(factory=list)
    pieces: list[ScheduledWrite] = field(factory=list)
    injected: list[bytes] = field(factory=list)
    effects: list[str] = field(factory=list)


class DryRun:
    """A plan applied to a recording; `fired` counts how often each rule fired."""

    def __init__(self, plan: Plan, frames: Iterable[PassedFrame], seed: int = 0) -> None:
        engine = FaultEngine(plan, seed, 0)
        self.seed = engine.seed
        self._sent: list[ScheduledWrite] = []
        self._records: dict[int, _FrameRecord] = {}
        last = 0
        for number, frame in enumerate(frames, 1):
            self._records[number] = _FrameRecord(frame)
            last = frame.t_ns
            self._note(number, engine.receive(frame.direction, frame.raw, frame.newline, last))
        for direction in Direction:
            self._note(0, engine.end(direction, last))
        self.fired = engine.fired

    @property
    def hits(self) -> list[FaultHit]:
        """The frames to which something happened."""
        return [_hit(record) for record in self._records.values() if record.rules]

    def delivered(self, direction: Direction) -> bytes:
        """All bytes that a direction would have carried, in order."""
        sent = [one for one in self._sent if one.direction is direction]
        return b"".join(one.data for one in sorted(sent, key=lambda one: one.due))

    def _note(self, number: int, outputs: Iterable[Output]) -> None:
        for output in outputs:
            if isinstance(output, Fired):
                record = self._records[output.frame]
                if output.received is not None:
                    record.rules.append(output.rule)
                elif output.delivered is not None:
                    record.injected.append(output.delivered)
            elif isinstance(output, ScheduledWrite):
                self._sent.append(output)
                if not output.is_injected:
                    self._records[output.frame].pieces.append(output)
            elif isinstance(output, DirectionEnd):
                if number:
                    self._records[number].effects.append(f"{output.direction.value} ends")
            elif text := _described(output.effect):
                self._records[number].effects.append(text)


def _hit(record: _FrameRecord) -> FaultHit:
    frame = record.frame
    delivered = b"".join(piece.data for piece in record.pieces) if record.pieces else None
    late = (max(piece.due for piece in record.pieces) - frame.t_ns) / _MS if record.pieces else 0.0
    return FaultHit(
        seq=frame.seq,
        direction=frame.direction.value,
        method=frame.method,
        kind=frame.kind,
        rules=tuple(record.rules),
        outcome=_outcome(record, delivered, late),
        delivered=delivered,
        late_ms=late,
        injected=tuple(record.injected),
        effects=tuple(record.effects),
    )


def _outcome(record: _FrameRecord, delivered: bytes | None, late: float) -> str:
    """What became of a frame, in words."""
    original = record.frame.raw + record.frame.newline
    parts = []
    if delivered is None:
        parts.append(NEVER)
    elif delivered != original:
        sizes = f"{len(original)} B become {len(delivered)} B"
        is_cut = original.startswith(delivered)
        parts.append(f"is cut: {sizes}" if is_cut else f"is changed: {sizes}")
    if late > 0:
        parts.append(f"{late:,.3f}".rstrip("0").rstrip(".") + " ms later")
    if len(record.pieces) > 1:
        parts.append(f"in {len(record.pieces)} writes")
    parts += [_shown(line) for line in record.injected]
    return "; ".join([*parts, *record.effects]) or "passes as it is"


def _shown(line: bytes) -> str:
    text = line.decode(errors="backslashreplace").rstrip("\r\n")
    return f"and there is {text[:100]}{'…' if len(text) > 100 else ''}"


def _described(effect: SideEffect) -> str:
    """A side effect in words; empty where a direction was stopped, which has an end of its own."""
    match effect:
        case SignalEffect(signum):
            return f"the agent gets signal {signum:d}"
        case ExitEffect(code):
            return f"the agent exits with {code}"
        case StderrEffect(data):
            return f"{len(data)} B appear on stderr"
    return ""
