"""What a verification came to, as far as the conversation itself tells."""

from collections.abc import Iterator

from attrs import frozen

from acp_proxy.engine.client.verification import Verification
from acp_proxy.engine.shared.divergence import Divergence, DivergenceKind
from acp_proxy.engine.shared.report_text import SHOWN, Reporter, counted

REPORTER = Reporter("agent")
"""Formats the divergences of an agent."""
_SHOWN_EARLY = 3


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
    """Divergences beyond those that are listed."""
    owed: tuple[Owed, ...]
    bindings: dict[str, str]
    """Recorded values that have another one now."""


def report(engine: Verification) -> PlayReport:
    """Draws up the report of a conversation that has ended."""
    stage, divergences = engine.stage, engine.stage.divergences
    owed = (
        Owed(o.lane.title, o.step.seq, o.step.title, round((stage.now - o.at) / 1e6, 3))
        for o in engine.debts.answers
    )
    return PlayReport(
        frames_sent=stage.sent,
        lines_received=stage.lines,
        turns=stage.turns,
        unsaid=engine.unsaid,
        has_stalled=divergences.has_stalled,
        has_diverged=divergences.has_diverged,
        is_played_out=engine.is_played_out,
        divergences=tuple(divergences.found),
        left_out=divergences.left_out,
        owed=tuple(owed),
        bindings=stage.bindings.changed,
    )


def text(found: PlayReport) -> Iterator[str]:
    """The divergences for a person, in lines; there are none if nothing diverged."""
    told = REPORTER.blocks(found.divergences, found.left_out)
    for block in told:
        yield from block
        yield ""
    if told and found.owed:
        yield "not answered:"
        for owed in found.owed[:SHOWN]:
            yield f"  {owed.lane}: {owed.method} #{owed.seq}, for {owed.waited_ms / 1000:.1f} s"
        yield ""


def early(found: PlayReport) -> Iterator[str]:
    """What went out early, a line each: it explains what the agent does otherwise then."""
    hurried = [one for one in found.divergences if one.kind is DivergenceKind.EARLY]
    for one in hurried[:_SHOWN_EARLY]:
        yield from REPORTER.lines_of(one)
    if len(hurried) > _SHOWN_EARLY:
        yield f"... and {len(hurried) - _SHOWN_EARLY} more went out early"


def headline(found: PlayReport) -> str:
    """How much was played: ``4 turns, 41 frames``."""
    frames = found.frames_sent + found.lines_received
    return f"{counted(found.turns, 'turn')}, {counted(frames, 'frame')}"
