"""Compares versions of agents or clients, or projects, by measures of their recordings.

Examples are the lengths of turns and the number of crashes. All numbers come from stored rows. The
findings are the same as in `list`: rules of the protocol are not checked.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from attrs import evolve, frozen

from acp_proxy.base.limits import LINE_EDGE
from acp_proxy.explain.choice import chosen_in
from acp_proxy.explain.describe.token_texts import Tokens
from acp_proxy.explain.findings import Finding, Severity
from acp_proxy.explain.show.agent_end import ENDED, NOT_STARTED
from acp_proxy.explain.show.chosen_messages import read_messages
from acp_proxy.explain.show.summary import find_quickly
from acp_proxy.explain.show.unanswered import UNANSWERED
from acp_proxy.explain.stats.traffic import percentile
from acp_proxy.explain.stats.waterfall import VOICE
from acp_proxy.protocol.tool_calls import call_of
from acp_proxy.protocol.updates import FAILED
from acp_proxy.recording.agent_names import agent_name
from acp_proxy.recording.recording import Recording, needs
from acp_proxy.store.files.directory import ListedRecording
from acp_proxy.store.queries.call_frames import call_updates_with
from acp_proxy.store.queries.exchanges import turn_count, turn_speeds
from acp_proxy.store.reader import RecordingReader

BY = ("agent", "client", "project")
"""The properties that can group recordings."""
COUNTS = ("failed_calls", "hangs", "crashes", "errors", "warnings")
"""Numbers that grow with the number of recordings."""
_TIMES = ("turn_p50_ns", "turn_p90_ns", "first_word_p50_ns", "first_word_p90_ns")
NUMBERS = ("recordings", "turns", *_TIMES, "tokens_per_turn", *COUNTS)
"""The numbers of a row, in the order of their columns."""
_Speeds = list[tuple[int | None, int | None]]


@frozen
class Measures:
    """The measures of one recording, such as the lengths of its turns."""

    speeds: _Speeds
    """For each turn, its length and the time to its first word, in nanoseconds; None if unknown."""
    counts: tuple[int, ...]
    """The number of turns, and the numbers of `COUNTS`."""
    tokens: int | None
    """The tokens of all turns together; None without a report of the agent."""


@frozen
class VersionRow:
    """All recordings of one version of an agent or client, or of one project."""

    by: str
    """The kind of group that the recordings form: agent, client or project."""
    name: str | None
    """The name of the agent or client, or the directory of the project; None if it is not known."""
    version: str | None
    first_used: str
    """The start of the first recording, in ISO 8601 and UTC."""
    numbers: dict[str, Any]
    """The values of `NUMBERS`: sums, and percentiles in nanoseconds. None for an unknown time."""
    change: dict[str, float | None] | None = None
    """The differences from the previous version of the same name; None for the first version and
    for projects. The numbers of `COUNTS` are scaled, as if both versions had equally many
    recordings."""

    @property
    def members(self) -> dict[str, Any]:
        """The members of the row's JSON."""
        head = {"by": self.by, "name": self.name, "version": self.version}
        return {**head, "first_used": self.first_used, **self.numbers, "change": self.change}


def measure(
    reader: RecordingReader, words: str, now_ns: int
) -> tuple[tuple[()], str, Measures | None]:
    """Measures a recording. Has the form of a `FindingSearch`, with the measures as the last value.

    Args:
        reader: the recording.
        words: a filter. A recording without a match has no measures.
        now_ns: the present time on the monotonic clock, for a live recording.
    """
    if words and next(reader.rows(chosen_in(reader, words)), None) is None:
        return (), "", None
    findings, _, tokens = find_quickly(reader, now_ns)
    severities = Counter(finding.severity for finding in findings)
    ends = {f.rule for f in findings if f.severity is Severity.ERROR} & {ENDED, NOT_STARTED}
    failed = {
        (message.session, message.turn, message.tool_call)
        for message in read_messages(reader, call_updates_with(reader, FAILED), LINE_EDGE)
        if call_of(message.part("params")).get("status") in FAILED
    }
    counts = (len(failed), any(map(_is_hang, findings)), bool(ends),
              severities[Severity.ERROR], severities[Severity.WARNING])  # fmt: skip
    sums = turn_count(reader), *counts
    return (), "", Measures(_speeds(reader), sums, _spent(tokens or Tokens()))


def _spent(tokens: Tokens) -> int | None:
    counts = [count for count in (tokens.input, tokens.output) if count is not None]
    return sum(counts) if counts and tokens.total is None else tokens.total


@needs("middle", "durations", unknown=[])
def _speeds(reader: RecordingReader) -> _Speeds:
    return turn_speeds(reader, [*VOICE])


def _is_hang(finding: Finding) -> bool:
    """Whether a finding is a hang. A request that waits for a person is not a hang."""
    least = Severity.ERROR if finding.rule == UNANSWERED else Severity.WARNING
    return finding.group == "wait" and finding.severity in (Severity.ERROR, least)


def compared(entries: Iterable[ListedRecording], by: str) -> list[VersionRow]:
    """Returns a row for each version or project, sorted by name, and then by version.

    Args:
        entries: the recordings. The member ``tokens`` of a recording contains its `Measures`. A
            recording without measures is left out.
        by: one of `BY`.
    """
    groups: dict[tuple[str, str], list[tuple[str, Measures]]] = {}
    for entry in entries:
        if entry.recording is not None and entry.tokens is not None:
            row = entry.recording.started_at, entry.tokens
            groups.setdefault(_key(entry.recording, by), []).append(row)
    rows = [_row(by, *key, group) for key, group in groups.items()]
    rows.sort(key=lambda row: (row.name or "", version_key(row.version or ""), row.first_used))
    return [_with_change(row, before) for row, before in zip(rows, [None, *rows], strict=False)]


def _key(recording: Recording, by: str) -> tuple[str, str]:
    if by == "project":
        return recording.cwd, ""
    if by == "client":
        return recording.client_name or "", recording.client_version or ""
    name = recording.agent_name or (agent_name(recording.words) if recording.words else "")
    return name, recording.agent_version or ""


def version_key(version: str) -> tuple[Any, ...]:
    """Returns a key that sorts versions: 1.9 before 1.10, and 2.0-rc1 before 2.0."""
    release, _, rest = version.partition("-")
    return _parts(release), not rest, _parts(rest)


def _parts(text: str) -> list[tuple[int, str]]:
    parts = re.findall(r"0*([0-9]+)|([^\W\d_]+)", text.lower().removeprefix("v"))
    return [(len(number) or -1, number or word) for number, word in parts]


def _row(by: str, name: str, version: str, group: list[tuple[str, Measures]]) -> VersionRow:
    starts, measures = zip(*group, strict=True)
    speeds = [speed for each in measures for speed in each.speeds]
    times = (percentile(sorted(ns for speed in speeds if (ns := speed[n]) is not None), percent)
             for n in (0, 1) for percent in (50, 90))  # fmt: skip
    turns, *counts = map(sum, zip(*(each.counts for each in measures), strict=True))
    spent = [(each.tokens, each.counts[0]) for each in measures if each.tokens is not None]
    tokens, counted = map(sum, zip((0, 0), *spent, strict=True))
    per_turn = round(tokens / counted) if counted else None
    numbers = dict(zip(NUMBERS, (len(group), turns, *times, per_turn, *counts), strict=True))
    return VersionRow(by, name or None, version or None, min(starts), numbers)


def _with_change(row: VersionRow, before: VersionRow | None) -> VersionRow:
    if before is None or row.by == "project" or before.name != row.name:
        return row
    new, old = row.numbers, before.numbers
    scale = dict.fromkeys(COUNTS, new["recordings"] / old["recordings"])
    change = {name: None if None in (new[name], old[name])
              else round(new[name] - old[name] * scale.get(name, 1), 2)
              for name in NUMBERS}  # fmt: skip
    return evolve(row, change=change)
