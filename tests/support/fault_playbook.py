"""Tests fault plans with transcripts: the frames that arrive, and the output for each.

    check(["drop where=method:session/update"], '''
        1 -> #0 initialize {"protocolVersion": 1}
          -> 1
        2 <- session/update {"sessionId": "s"}
    ''')

Each frame has a number and the syntax of `tests.support.playbook`. Below the frame stands the
output that it causes, in order. ``-> 1`` is frame 1 byte for byte, ``<- 1 at 500ms`` the same frame
later, ``<- | text`` other bytes with the escapes of a Python string. ``stderr 40`` is 40 bytes on
stderr; ``end of to-client``, ``signal 9`` and ``exit 3`` are side effects. ``.. 3s`` lets time
pass, and ``<- end`` ends a direction.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from acp_proxy.faults.fault import (
    CloseEffect,
    DirectionEnd,
    ExitEffect,
    Fired,
    RuleEffect,
    ScheduledWrite,
    SignalEffect,
    StallEffect,
    StderrEffect,
)
from acp_proxy.faults.fault_engine import FaultEngine
from acp_proxy.faults.plan import Plan, joined, parse_rule
from acp_proxy.protocol.jsonrpc import Direction
from tests.support.playbook import duration, lines, wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from acp_proxy.faults.fault import Output

START_NS = 77 * 10**9
_ARROWS = {"->": Direction.TO_AGENT, "<-": Direction.TO_CLIENT}
_SAID = re.compile(r"(?P<number>\d+) (?P<arrow>->|<-) (?P<what>.+)")


def plan_of(*rules: str) -> Plan:
    """Returns a plan of fault rules that are written as on the command line."""
    return joined((), [parse_rule(rule) for rule in rules], None)


class FaultTranscript:
    """A connection whose frames pass a fault plan.

    Attributes:
        engine: the engine that applies the plan.
        now: the current time in nanoseconds.
        outputs: all outputs of the engine so far.
    """

    def __init__(self, rules: Sequence[str] | Plan, seed: int = 1) -> None:
        plan = rules if isinstance(rules, Plan) else plan_of(*rules)
        self.engine = FaultEngine(plan, seed, START_NS)
        self.now = START_NS
        self.outputs: list[Output] = []
        self._frames: dict[bytes, str] = {}

    def check(self, transcript: str) -> None:
        """Plays the frames of a transcript, and compares the output with the transcript."""
        written = lines(transcript)
        assert list(self.play(written)) == written

    def play(self, written: Iterable[str]) -> Iterator[str]:
        """Yields each frame of a transcript, and after it the actual output."""
        for line in written:
            arrow, _, what = line.partition(" ")
            if arrow == "..":
                yield line
                self.now += duration(what)
            elif what == "end" and arrow in _ARROWS:
                yield line
                yield from self._came(self.engine.end(_ARROWS[arrow], self.now))
            elif match := _SAID.fullmatch(line):
                yield line
                data = wire(match["what"])
                self._frames[data] = match["number"]
                yield from self._came(self.feed(_ARROWS[match["arrow"]], data))

    def feed(self, direction: Direction, data: bytes) -> list[Output]:
        """Passes a line to the engine, and returns the engine's output."""
        raw = data.removesuffix(b"\n")
        raw = raw.removesuffix(b"\r") if raw != data else raw
        return list(self.engine.receive(direction, raw, data[len(raw) :], self.now))

    @property
    def fired(self) -> list[Fired]:
        """Returns a report for each time that a rule fired."""
        return [output for output in self.outputs if isinstance(output, Fired)]

    def _came(self, outputs: Iterable[Output]) -> Iterator[str]:
        for output in outputs:
            self.outputs.append(output)
            match output:
                case Fired() | RuleEffect(effect=StallEffect() | CloseEffect()):
                    pass
                case _:
                    yield self._described(output)

    def _described(self, output: Output) -> str:
        match output:
            case ScheduledWrite():
                arrow = "->" if output.direction is Direction.TO_AGENT else "<-"
                text = output.data.decode("latin-1").encode("unicode_escape").decode()
                late = output.due - self.now
                moment = f" at {(output.due - START_NS) / 1e6:g}ms" if late > 0 else ""
                return f"{arrow} {self._frames.get(output.data, f'| {text}')}{moment}"
            case DirectionEnd():
                return f"end of {output.direction.value}"
            case RuleEffect(effect=SignalEffect(signum, grace)):
                return f"signal {signum:d}" + ("" if grace is None else f", then kill {grace}")
            case RuleEffect(effect=ExitEffect(code)):
                return f"exit {code}"
            case RuleEffect(effect=StderrEffect(data)):
                return f"stderr {len(data)}"
        raise AssertionError(f"expected a known output, got {output!r}")


def check(rules: Sequence[str], transcript: str, seed: int = 1) -> FaultTranscript:
    """Plays frames through fault rules, and compares the output with the transcript."""
    recorded = FaultTranscript(rules, seed)
    recorded.check(transcript)
    return recorded
