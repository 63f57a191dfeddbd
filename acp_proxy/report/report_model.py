"""The report's facts about a whole recording: summary, figures, turns and findings."""

from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve, frozen

from acp_proxy.base.limits import CHECKED_FRAMES, LONG_LIST
from acp_proxy.check.judgement import summarize_whole
from acp_proxy.explain.choice import chosen_in, of_turn
from acp_proxy.explain.message_pass import MessagePass
from acp_proxy.explain.observed_faults import FiredRule, read_rules
from acp_proxy.explain.origins import known_json, why_no_times
from acp_proxy.explain.pauses import Pause, Pauses
from acp_proxy.explain.show.summary_values import Summary
from acp_proxy.explain.stats.statistics import Statistics, TurnsAndCalls, gather, with_texts
from acp_proxy.explain.stats.waterfall import TurnWaterfall, Waterfalls
from acp_proxy.recording.filters import EVERYTHING, Filter, all_of
from acp_proxy.recording.recording import Recording, needs
from acp_proxy.report.images import PageImage, read_images
from acp_proxy.store.queries.exchanges import last_turn, turns
from acp_proxy.store.queries.fired_faults import count_undated_frames, touched_frames
from acp_proxy.store.reader import RecordingReader

Watch = Callable[[Iterator[Any]], Iterator[Any]]

_MOST_STEPS = 2_000
"""The largest number of steps that are kept of one turn; the longest steps are kept."""
_MOST_STEPS_OF_ALL = 30_000
"""The largest number of steps of all turns together. A turn may always have `_LEAST_STEPS`."""
_LEAST_STEPS = 20
"""The number of steps that are kept of every turn, however many turns there are."""


@frozen
class ReportOptions:
    """The options of a report."""

    filter: str = ""
    """The filter for rows, as on the command line; empty for all rows."""
    turn: int | None = None
    """The only turn whose rows are in the report; None for all rows."""
    payloads: bool = True
    """Whether the report contains the bytes of the lines."""
    now_ns: int | None = None
    """The present time on the monotonic clock, for a recording that is still running."""

    def chosen(self, reader: RecordingReader) -> Filter:
        """Returns the filter for a report's rows; `EVERYTHING` if the report has all rows.

        Args:
            reader: the recording.

        Raises:
            BadFilter: the filter is invalid, or the turn does not exist.
        """
        parts = [chosen_in(reader, self.filter)] if self.filter.strip() else []
        parts += [of_turn(reader, self.turn)] if self.turn is not None else []
        return all_of(parts) if parts else EVERYTHING


@frozen
class ReportData:
    """The report's facts about a whole recording, in addition to its rows."""

    name: str
    options: ReportOptions
    summary: Summary
    statistics: Statistics
    """The statistics of the whole recording, without waterfalls."""
    waterfalls: list[TurnWaterfall]
    """The waterfall of each turn. If a turn was chosen, only the waterfall of this turn."""
    faults: list[FiredRule]
    """The effects of each rule of the plan; empty without a plan."""
    faulted_frames: int
    undated_frames: int
    """The number of frames that faults sent at a time that was not recorded."""
    rows_in_recording: int
    is_masked: bool
    """Whether secrets are masked, be it in the recording or in the report."""
    is_unredacted: bool
    """Whether the user asked to show secrets."""
    last_turn: int
    pauses: list[Pause]
    """The marked pauses, in order; empty if the times are not known."""
    images: dict[str, PageImage]
    """The images in the report's rows that a page can show, by their data in base64."""


def read_report_data(
    reader: RecordingReader, options: ReportOptions, watch: Watch = iter
) -> ReportData:
    """Reads the facts about a whole recording, in two passes over its frames.

    Args:
        reader: the recording.
        options: the options of the report.
        watch: yields the frames of a pass unchanged, and may show the progress.

    Raises:
        BadFilter: the filter of the options is invalid for this recording.
        UnreadableRecording: the file is damaged or locked.
    """
    chosen = options.chosen(reader)  # a wrong filter fails before the long work
    frames = reader.count()
    messages = MessagePass(reader)
    passed = TurnsAndCalls(reader, messages)
    shown = [turn for turn in _timed_turns(reader) if options.turn in (None, turn.id)]
    most_steps = max(_LEAST_STEPS, min(_MOST_STEPS, _MOST_STEPS_OF_ALL // max(1, len(shown))))
    falls = Waterfalls(reader, messages, shown, passed.end_ns, most_steps)
    summary = summarize_whole(
        reader, options.now_ns, watch, most=CHECKED_FRAMES, listed=LONG_LIST,
        messages=messages, others=[passed, falls],
    )  # fmt: skip
    statistics = gather(reader, watch=watch, passed=passed)
    return ReportData(
        name=reader.recording.name,
        options=options,
        summary=summary,
        statistics=evolve(statistics, turns=with_texts(reader, statistics.turns)),
        waterfalls=falls.finish(),
        faults=read_rules(reader),
        faulted_frames=len(touched_frames(reader)),
        undated_frames=count_undated_frames(reader),
        rows_in_recording=frames + sum(1 for _ in reader.events()),
        is_masked=reader.is_masked or reader.masked_rows is not None,
        is_unredacted=reader.unredacted,
        last_turn=last_turn(reader),
        pauses=[*Pauses(reader).every(passed.end_ns)],
        images=read_images(reader, chosen) if options.payloads else {},
    )


_timed_turns = needs("middle", "durations", unknown=())(turns)


def with_clock(recording: Recording) -> Recording:
    """Returns the recording; if its time zone is unknown, the start in the result has no zone."""
    if recording.has_zone:
        return recording
    return evolve(recording, started_at=recording.clock().isoformat())


def described(data: ReportData) -> dict[str, Any]:
    """Returns the members of ``meta`` that describe the whole recording."""
    summary, recording = data.summary, data.summary.recording
    has_times = summary.duration_ns is not None
    words = data.options.filter.strip()
    values: dict[str, Any] = {
        "name": data.name,
        "filter": words,
        "turn": data.options.turn,
        "rows_in_recording": data.rows_in_recording,
        "masked": data.is_masked,
        "unredacted": data.is_unredacted,
        "started_at": with_clock(recording).known_start if has_times else None,
        "summary": summary,
        "stats": data.statistics,
        "waterfalls": data.waterfalls,
        "known_labels_complete": not words and data.options.turn is None,
        "last_turn": data.last_turn,
        "pauses": data.pauses,
    }
    values |= {"notes": recording.row_notes} if recording.row_notes else {}
    if not has_times:
        values["has_times"] = False
    if recording.step_ns:
        values["step_ns"] = recording.step_ns
    if why := why_no_times(recording):
        values["why_no_times"] = f"There are {why}."
    if recording.origin is not None and summary.is_open:
        values["is_open"] = True
    plain: dict[str, Any] = known_json(recording, values)
    return plain
