"""``acp-proxy stats``: the traffic, the speed of answers, and the time spent in turns."""

import time
from functools import partial
from pathlib import Path

import click
from attrs import evolve

from acp_proxy.cli.group import Refusal, cli_command, recordings
from acp_proxy.cli.masking import is_unredacted
from acp_proxy.cli.opening import mapped, open_recording, require
from acp_proxy.cli.options import filter_argument, number_option, printing, read_argument
from acp_proxy.cli.screens.output import progress, say_json, stdout_screen, warn
from acp_proxy.explain.choice import chosen_in, why_nothing
from acp_proxy.explain.origins import known_json
from acp_proxy.explain.stats.statistics import Statistics, gather, slowest, waterfall, with_texts
from acp_proxy.explain.stats.turn_times import TurnTime
from acp_proxy.explain.stats.versions import BY, compared, measure
from acp_proxy.recording.filters import EVERYTHING
from acp_proxy.recording.recording import needs
from acp_proxy.store.files.directory import list_recordings, paths
from acp_proxy.store.reader import RecordingReader


@cli_command()
@read_argument
@filter_argument
@click.option("--json", is_flag=True, help="Print one JSON object, with all turns.")
@number_option("--turn", text="The turn to show step by step; by default the slowest.")
@number_option(
    "--top",
    least=0,
    default=10,
    text="How many tool calls (with the most bytes) and turns (the slowest) to list.",
)
@click.option("--by", type=click.Choice(BY),
              help="Compare all recordings of a directory, which REC names: a row for each"
              " version of the agent or client, or for each project.")  # fmt: skip
@printing
def stats(
    rec: str, filter_words: str, json: bool, turn: int | None, top: int, by: str | None
) -> None:
    """Show the traffic, the speed of answers, and how the turns spent their time.

    First: how the time of the turns divides. A turn waits for its client while a request of the
    agent is open: for a person (a permission), for terminals, for files, or for another answer. If
    several requests are open, the first kind in this list counts. All other time is the agent's: it
    is streaming while its pauses take at most 250 ms, and otherwise silent. If a tool call ran in
    the longest silence, and this silence is at least half of the silent time, the call is named in
    place of the silence.

    Methods: the frames and bytes of requests, answers and notifications; how many requests were
    answered with an error, cancelled, or are open; the latency that 50, 90 and 99 percent of
    answers did not exceed (without cancelled requests), and the largest latency; and when the
    frames came.

    Tool calls: the calls with the most bytes in all their messages, in the order in which the calls
    began.

    Turns: how long each turn took, when the first piece of its answer came, and a bar that shows
    how its time divides. Then the steps of the slowest turn.

    FILTER selects the frames that are counted, as in `log`. The turns of these frames are listed,
    and each turn is measured as a whole. A turn without an end lasts until the end of the
    recording, or until now if the recording still runs.

    Examples:
      acp-proxy stats latest
          how the time divides: the agent, a person, terminals, files
      acp-proxy stats latest --turn 3
          every step of the third turn
      acp-proxy stats latest 'session:ses_a* method:terminal/*'
          only the terminals of one session
      acp-proxy stats latest --json | jq '.turns[] | [.id, .client_ns, .agent_ns]'
          for a program: how long each turn waited for the client
      acp-proxy stats --by agent
          what a new version of an agent changed: a row for each version
      acp-proxy stats latest --json |
        jq -r '.methods[] | select(.p99_ns > 1e9) | .method'
          methods with more than 1% of answers slower than one second
    """
    if by is not None:
        if turn is not None:
            raise Refusal("--turn and --by cannot be combined: --by compares recordings")
        _compare(recordings() if rec == "latest" else Path(rec), filter_words, by, as_json=json)
        return
    with open_recording(rec) as reader:
        chosen = chosen_in(reader, filter_words)
        watch = partial(progress, total=reader.count(), label="counting")
        result = gather(reader, chosen, top=top, watch=watch)
        recording = reader.recording
        require("--turn", turn, reader)
        chosen_turn = _turn(reader, result, turn)
        if chosen_turn is not None:
            most = 30 if turn is None else None  # of the slowest turn
            result = evolve(result, waterfall=waterfall(reader, chosen_turn, most))
        listed = result.turns if json else slowest(result.turns, top)
        texts = with_texts(reader, listed)
        if json:
            say_json(known_json(recording, evolve(result, turns=texts)))
            return
        if not result.frames:
            is_empty = chosen is EVERYTHING
            warn("the recording has no frames" if is_empty else why_nothing(reader, filter_words))
    from acp_proxy.cli.explain.stats_screen import StatisticsPage

    StatisticsPage(stdout_screen(), recording).show(result, texts, chosen_turn)


def _compare(where: Path, words: str, by: str, *, as_json: bool) -> None:
    """Prints a row for each version of the agents or clients, or for each project."""
    if not where.is_dir():
        raise Refusal(f"--by compares recordings: expected a directory of recordings, got {where}")
    find = partial(measure, words=words, now_ns=time.monotonic_ns())
    entries = list_recordings(paths(where), find, unredacted=is_unredacted(), mapped=mapped)
    for problem in filter(None, (entry.problem for entry in entries)):
        warn(problem)
    rows = compared(entries, by)
    if as_json:
        for row in rows:
            say_json(row.members)
    elif not rows:
        warn(f"no recordings in {where}" + (f" match {words}" if words else ""))
    else:
        from acp_proxy.cli.explain.stats_screen import show_versions

        show_versions(stdout_screen(), rows)


@needs("middle", "durations")
def _turn(reader: RecordingReader, statistics: Statistics, number: int | None) -> TurnTime | None:
    """Returns the turn to show step by step."""
    if number is None:
        return next(iter(slowest(statistics.turns, 1)), None)
    every = {turn.id: turn for turn in statistics.turns}
    if number not in every:
        every = {turn.id: turn for turn in gather(reader, top=0).turns}
    if number not in every:
        raise Refusal(f"no turn {number} in {reader.path}; number of turns: {len(every)}")
    return every[number]
