"""Reports how the conversation of a verification went."""

from collections.abc import Iterator, Mapping

from attrs import frozen

from acp_proxy.base.limits import NAMED
from acp_proxy.base.wording import counted
from acp_proxy.playback.shared.divergence import (
    SHOWN,
    Divergence,
    DivergenceKind,
    DivergenceReporter,
)
from acp_proxy.playback.verify.lane import SentRequest
from acp_proxy.playback.verify.verification import Verification

REPORTER = DivergenceReporter("agent")


@frozen
class UnansweredRequest:
    """A request of the client that the live agent has not answered."""

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
    """The number of answered prompts."""
    unsaid: int
    """How many recorded frames of the client were not sent, including answers that the agent did
    not request."""
    has_stalled: bool
    has_diverged: bool
    is_played_out: bool
    """Whether everything was sent and answered."""
    divergences: tuple[Divergence, ...]
    left_out: int
    """How many divergences are not listed."""
    owed: tuple[UnansweredRequest, ...]
    bindings: dict[str, str]
    """The recorded values that differ in this run, each with its live value."""


def report(engine: Verification, known: Mapping[str, str] | None = None) -> PlayReport:
    """Returns the report of a conversation that has ended.

    Args:
        engine: the verification.
        known: the marker of each secret that occurs in the recording or in the new run.
    """
    state, divergences = engine.state, engine.state.divergences
    queues = [lane.queue for lane in state.recording.lanes.values()]
    return PlayReport(
        frames_sent=engine.sender.sent,
        lines_received=state.output.lines,
        turns=engine.messages.turns,
        unsaid=sum(queue.discarded + len(queue) for queue in queues),
        has_stalled=divergences.has_stalled,
        has_diverged=divergences.has_diverged,
        is_played_out=engine.is_played_out,
        divergences=divergences.masked(known or {}),
        left_out=divergences.left_out,
        owed=tuple(_unanswered(sent, state.now) for sent in state.pending.requests),
        bindings=state.masking.pairs(state.bindings.changed),
    )


def _unanswered(request: SentRequest, now: int) -> UnansweredRequest:
    step, waited_ms = request.step, round((now - request.at) / 1e6, 3)
    return UnansweredRequest(request.lane.title, step.seq, step.title, waited_ms)


def text(play_report: PlayReport) -> Iterator[str]:
    """Yields lines with the divergences that are failures, and then the unanswered requests."""
    blocks = REPORTER.blocks(play_report.divergences, play_report.left_out)
    for block in blocks:
        yield from block
        yield ""
    if blocks and play_report.owed:
        yield "not answered:"
        for item in play_report.owed[:SHOWN]:
            yield f"  {item.lane}: {item.method} #{item.seq}, for {item.waited_ms / 1000:.1f} s"
        yield ""


def remarks(play_report: PlayReport) -> Iterator[str]:
    """Yields lines on early and withheld frames, which may explain other divergences."""
    for kind, rest in (
        (DivergenceKind.EARLY, "went out early"),
        (DivergenceKind.WITHHELD, "are withheld"),
    ):
        of_kind = [divergence for divergence in play_report.divergences if divergence.kind is kind]
        for divergence in of_kind[:NAMED]:
            yield from REPORTER.lines_of(divergence)
        if len(of_kind) > NAMED:
            yield f"... and {len(of_kind) - NAMED} more {rest}"


def headline(play_report: PlayReport) -> str:
    """Returns how much was played: ``4 turns, 41 frames``."""
    frames = play_report.frames_sent + play_report.lines_received
    return f"{counted(play_report.turns, 'turn')}, {counted(frames, 'frame')}"
