"""The report of a replay: a verdict, all divergences, and the frames not played."""

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from acp_proxy.base.wording import counted, listed, visible
from acp_proxy.playback.replay.replay import Replay
from acp_proxy.playback.shared.divergence import (
    SHOWN,
    Divergence,
    DivergenceKind,
    DivergenceReporter,
    Rank,
    masked_lines,
    summaries,
)

CLEAN, DIVERGED, STALLED = 0, 1, 3
"""The documented exit codes; 3 is also the code of an incomplete recording played to its end."""

REPORTER = DivergenceReporter("client")
"""Formats the divergences of a client."""


@frozen
class LaneWait:
    """The message that a lane was waiting for at the end of the replay."""

    lane: str
    waits_for: str
    """The recorded peer that would send the message: ``client`` or ``agent``."""
    seq: int
    method: str
    """The method of the message, or ``the answer to ...``."""


@frozen
class ReplayReport:
    """The report of one replay."""

    recording: str
    verdict: str
    """clean, diverged, stalled or incomplete."""
    exit_code: int
    frames_sent: int
    lines_received: int
    messages_matched: int
    unplayed: int
    """How many frames of the agent never went out."""
    divergences: tuple[Divergence, ...]
    left_out: int
    """How many divergences are not listed."""
    withheld: tuple[int, ...]
    """Numbers of the frames that were withheld from the client, at least in part."""
    waits: tuple[LaneWait, ...]
    bindings: dict[str, str]
    """Recorded values and the live values that replaced them."""
    withheld_outside: tuple[int, ...] = ()
    """The withheld frames that would have changed or run something outside the client's
    directories."""
    faults: dict[str, int] | None = None
    """How often each rule fired; None without faults."""
    seed: int | None = None
    """The seed of the faults."""
    reproduce: str | None = None
    """A command line that reproduces the faults."""


def report(
    replay: Replay, recording: str, *, is_incomplete: bool, known: Mapping[str, str] | None = None
) -> ReplayReport:
    """Returns the report of a replay that has ended.

    Args:
        replay: the engine.
        recording: the recording's path or name.
        is_incomplete: whether the recorder was killed before the recorded agent had ended.
        known: secrets in the recording, each with a marker.
    """
    state, log, sender = replay.state, replay.state.divergences, replay.sender
    ran_out = is_incomplete and replay.is_played_out
    verdict, code = "clean", CLEAN
    if log.has_stalled:
        verdict, code = "stalled", STALLED
    elif log.has_diverged:
        verdict, code = "diverged", STALLED if ran_out else DIVERGED
    elif ran_out:
        verdict, code = "incomplete", STALLED
    return ReplayReport(
        recording=recording,
        verdict=verdict,
        exit_code=code,
        frames_sent=sender.sent,
        lines_received=replay.lines,
        messages_matched=sum(lane.messages for lane in state.schedule.lanes.values()),
        unplayed=replay.unplayed,
        divergences=log.masked(known or {}),
        left_out=log.left_out,
        withheld=tuple(sender.withholding.frames),
        waits=tuple(_waits(replay)),
        bindings=state.masking.pairs(state.bindings.changed),
        withheld_outside=tuple(sender.withholding.outside),
    )


def text(replay_report: ReplayReport) -> list[str]:
    """Formats a report as lines for the terminal; a clean replay may have no lines.

    Control characters from the recording or the client are made visible.
    """
    return [visible(line) for line in _replay_lines(replay_report) + _fault_lines(replay_report)]


def _fault_lines(replay_report: ReplayReport) -> list[str]:
    """Returns lines about faults: which fired, which never fired, and how to repeat the run."""
    if replay_report.faults is None:
        return []
    fired = [f"{name} {count}" for name, count in replay_report.faults.items() if count]
    lines = [f"faults that fired: {', '.join(fired) or 'none'}; seed {replay_report.seed}"]
    lines += [
        f"warning: {name} never fired" for name, count in replay_report.faults.items() if not count
    ]
    lines += summaries(replay_report.divergences, DivergenceKind.DROPPED)
    return [*lines, f"reproduce with: {replay_report.reproduce}"]


def _replay_lines(replay_report: ReplayReport) -> list[str]:
    if replay_report.verdict == "clean" and not replay_report.withheld:
        return masked_lines(replay_report.divergences)
    lines = [f"replay of {replay_report.recording}: {headline(replay_report)}"]
    blocks = REPORTER.blocks(replay_report.divergences, replay_report.left_out)
    lines += [line for block in blocks for line in ("", *block)]
    if replay_report.verdict in ("stalled", "diverged") and replay_report.waits:
        lines += ["", "waiting:"]
        lines += [
            f"  {w.lane}: for the {w.waits_for}, {w.method} #{w.seq}" for w in replay_report.waits
        ]
    if replay_report.bindings and blocks:
        lines += ["", "the client's own values:"]
        lines += [f"  {old} is now {new}" for old, new in replay_report.bindings.items()]
    return lines + masked_lines(replay_report.divergences) + _withheld_lines(replay_report)


def _withheld_lines(replay_report: ReplayReport) -> list[str]:
    """Returns lines about withheld requests, and about the options that allow these requests."""
    outside = replay_report.withheld_outside
    if outside:
        return [
            "",
            "withheld from the client, since these frames would write or run something outside the"
            f" directories that the client named: {_numbers(outside)}; --allow-outside sends them",
        ]
    if replay_report.withheld:
        return ["", f"withheld from the client (--inert): {_numbers(replay_report.withheld)}"]
    return []


def _numbers(seqs: Sequence[int]) -> str:
    return listed([f"#{seq}" for seq in seqs], SHOWN)


def headline(replay_report: ReplayReport) -> str:
    """Returns a line with the verdict, and with how much was played."""
    played = (
        f"{counted(replay_report.frames_sent, 'frame')} sent,"
        f" {counted(replay_report.messages_matched, 'message')} matched"
    )
    unplayed = f"{counted(replay_report.unplayed, 'frame')} unplayed"
    match replay_report.verdict:
        case "clean":
            return f"clean; {played}"
        case "incomplete":
            return f"the recording is incomplete, and was played to its end; {played}"
        case "stalled":
            return f"stalled; {played}, {unplayed}"
    primary = sum(divergence.rank is Rank.PRIMARY for divergence in replay_report.divergences)
    return f"{counted(primary, 'divergence')}; {played}, {unplayed}"


def _waits(replay: Replay) -> Iterator[LaneWait]:
    for lane in replay.state.schedule.lanes.values():
        awaited = lane.first_missing
        if awaited is not None and not lane.abandoned:
            yield LaneWait(lane.title, "client", awaited.seq, awaited.title)
