"""What a verification came to, as far as the conversation itself tells."""

from collections.abc import Iterator

from attrs import frozen

from acp_proxy.engine.client.verification import Verification
from acp_proxy.engine.comparison import Difference
from acp_proxy.engine.divergence import Departure, Divergence, Rank
from acp_proxy.engine.report import counted

_SHOWN = 12
"""Departures that the text form shows; the file has all of them."""
_SHOWN_FIELDS, _SHOWN_EARLY = 5, 3


@frozen
class Owed:
    """A request of the client's that the live agent has not answered."""

    lane: str
    seq: int
    method: str
    waited_ms: float


@frozen
class PlayReport:
    """How the conversation went."""

    frames_sent: int
    lines_received: int
    turns: int
    """Prompts that were answered."""
    unsaid: int
    """Recorded frames of the client's that were not sent."""
    has_stalled: bool
    has_diverged: bool
    is_played_out: bool
    """Whether all was said and answered."""
    divergences: tuple[Divergence, ...]
    left_out: int
    """Departures beyond those that are listed."""
    owed: tuple[Owed, ...]
    bindings: dict[str, str]
    """Recorded values that have another one now."""


def report(engine: Verification) -> PlayReport:
    """Draws up the report of a conversation that has ended."""
    stage, judge = engine.stage, engine.stage.judge
    tables = (stage.bindings.roots, stage.bindings.sessions)
    owed = (
        Owed(o.lane.title, o.step.seq, o.step.title, round((stage.now - o.at) / 1e6, 3))
        for o in engine.debts.answers
    )
    return PlayReport(
        frames_sent=stage.sent,
        lines_received=stage.lines,
        turns=stage.turns,
        unsaid=engine.unsaid,
        has_stalled=judge.has_stalled,
        has_diverged=judge.has_diverged,
        is_played_out=engine.is_played_out,
        divergences=tuple(judge.found),
        left_out=judge.left_out,
        owed=tuple(owed),
        bindings={old: new for table in tables for old, new in table.items() if old != new},
    )


def text(found: PlayReport) -> Iterator[str]:
    """The departures for a person, in lines; there are none if nothing departed.

    What went out early is among them: it explains what the agent does otherwise then.
    """
    told = [one for one in found.divergences if one.rank is Rank.PRIMARY]
    told += [one for one in found.divergences if one.rank is Rank.CASCADE]
    for one in told[:_SHOWN]:
        yield from lines_of(one)
        yield ""
    rest = len(told) + found.left_out - _SHOWN
    if rest > 0:
        yield f"... and {rest} more; --report FILE has all of them"
        yield ""
    early = [one for one in found.divergences if one.kind is Departure.EARLY]
    for one in early[:_SHOWN_EARLY]:
        yield from lines_of(one)
        yield ""
    if len(early) > _SHOWN_EARLY:
        yield f"... and {len(early) - _SHOWN_EARLY} more went out early"
        yield ""
    if told and found.owed:
        yield "not answered:"
        for owed in found.owed[:_SHOWN]:
            yield f"  {owed.lane}: {owed.method} #{owed.seq}, for {owed.waited_ms / 1000:.1f} s"
        yield ""


def lines_of(one: Divergence) -> Iterator[str]:
    """A departure for a person."""
    mark = "follows from that" if one.rank is Rank.CASCADE else one.rank.value
    yield f"{one.kind} in {one.lane} ({mark}): {one.summary}"
    if one.line is not None:
        yield f"  the agent's line {one.line}: {one.came or ''}"[:300]
    yield from _differing(one.differences, "  ")
    for miss in one.near_misses:
        yield f"  near: {miss.method} #{miss.seq}"
        yield from _differing(miss.differences, "    ")


def headline(found: PlayReport) -> str:
    """How much was played: ``4 turns, 41 frames``."""
    frames = found.frames_sent + found.lines_received
    return f"{counted(found.turns, 'turn')}, {counted(frames, 'frame')}"


def _differing(differences: tuple[Difference, ...], indent: str) -> Iterator[str]:
    for one in differences[:_SHOWN_FIELDS]:
        yield f"{indent}{one.pointer}: recorded {one.recorded}, came {one.live}"
    if len(differences) > _SHOWN_FIELDS:
        yield f"{indent}... and {len(differences) - _SHOWN_FIELDS} more"
