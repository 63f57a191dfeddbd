"""Commands leave out facts that an imported recording lacks, and say so."""

from __future__ import annotations

from typing import Any, get_args

from attrs import fields, frozen, has, resolve_types

from acp_proxy.explain.audit.audit_values import Audit
from acp_proxy.explain.log.frame_json import FRAME_MEMBERS
from acp_proxy.explain.origins import (
    MEMBERS,
    known_json,
    known_members,
    known_value,
    origin_rows,
    why_no_times,
)
from acp_proxy.explain.show.summary_values import Summary
from acp_proxy.explain.stats.statistics import Statistics
from acp_proxy.explain.transcript.entries import TranscriptEntry, TranscriptSection
from acp_proxy.recording.recording import LOST, Origin, Recording


@frozen
class Measured:
    """A value with members that are None if an import does not know them."""

    seq: int
    t_ns: int | None
    took_ns: int | None
    bytes: int | None
    agent_ns: int | None = 5


PRINTED = (Audit, Statistics, Summary, TranscriptEntry, TranscriptSection)
"""The values that commands print as JSON."""
WHOLE = Measured(1, 2, 3, 4)


def a_recording(origin: Origin | None) -> Recording:
    """A recording with an origin."""
    return Recording("0", "x", "0", "2025-01-01T00:00:00Z", origin=origin)


def test_of_a_recording_of_ours_all_is_known() -> None:
    """For a recording that acp-proxy made, `show` prints all values and no line on missing data."""
    ours = a_recording(None)
    assert known_value(ours, WHOLE) is WHOLE
    assert known_json(ours, WHOLE)["took_ns"] == 3
    assert why_no_times(ours) == ""
    assert [*origin_rows(ours)] == []


def test_what_is_not_known_is_left_out() -> None:
    """In `show --json` of an imported log, values that the log lacks are null."""
    lost = a_recording(Origin("zed", ("bytes", "times")))
    assert known_value(lost, WHOLE) == Measured(1, None, None, None, None)
    assert known_members(lost, {"seq": 1, "t_ns": 0, "size": 5}) == {
        "seq": 1, "t_ns": None, "size": None,
    }  # fmt: skip
    inferred = a_recording(Origin("lines", inferred_times=1))
    assert known_value(inferred, WHOLE) == Measured(1, 2, None, 4, None)
    gaps = a_recording(Origin("lines", ("middle",)))
    assert known_value(gaps, WHOLE) == Measured(1, 2, 3, 4, None)
    nested = {"all": [WHOLE], "origin": {"resolution_ns": 7}}
    assert known_json(lost, nested) == {
        "all": [{"seq": 1, "t_ns": None, "took_ns": None, "bytes": None, "agent_ns": None}],
        "origin": {"resolution_ns": 7},
    }


def members_of(kind: Any, known: set[type]) -> set[str]:
    """Returns the names of a type's members at any depth, except those of the known types."""
    names = {name for inner in get_args(kind) for name in members_of(inner, known)}
    if has(kind) and kind not in known:
        known.add(kind)
        for field in fields(resolve_types(kind)):
            names |= {field.name} | members_of(field.type, known)
    return names


def test_every_time_that_is_printed_declares_what_it_needs() -> None:
    """The table `MEMBERS` declares for each time in JSON output which recorded data it needs."""
    names = {name for kind in PRINTED for name in members_of(kind, {Recording})}
    declared = {name for members in MEMBERS.values() for name in members}
    times = {name for name in (*names, *FRAME_MEMBERS) if name.endswith("_ns")}
    assert len(times) > 20
    assert times <= declared


def test_the_reason_is_said() -> None:
    """If an imported log lacks times, `stats` prints why it has no times or durations."""
    lost = a_recording(Origin("zed", ("times",)))
    assert why_no_times(lost) == "no times: the recording was imported from zed, which has none"
    untimed = a_recording(Origin("lines", inferred_times=1))
    assert why_no_times(untimed) == "no durations: 1 message in a plain log has no usable time"
    gaps = a_recording(Origin("lines", ("middle",)))
    assert why_no_times(gaps) == "no times of turns: messages may be missing in a plain log"


def test_messages_without_a_sign_of_acpx_are_not_said_to_be_from_it() -> None:
    """If an imported log only has the form of an acpx log, `show` says "in the form of acpx"."""
    origin = Origin("acpx", lost=("times",))
    head = dict(origin_rows(a_recording(origin)))["imported"]
    assert head.startswith("from a stream in the form of acpx on 2025-01-01")


def test_the_head_says_what_was_imported() -> None:
    """`show` names the source of an imported log, and the data that are missing or inferred."""
    origin = Origin("lines", ("ending", "zone"), 1_000_000, 1, 2, 3)
    assert dict(origin_rows(a_recording(origin))) == {
        "imported": "from a plain log, times in steps of 1 ms, 1 inferred direction, "
        "2 inferred times, 3 lines left out that could not be read",
        "not known": f"{LOST['ending']}; {LOST['zone']}",
    }
    rows = dict(origin_rows(a_recording(Origin("zed", ("times", "zone"), 1500))))
    assert rows["imported"].startswith("from zed on 202")
    assert rows["not known"] == LOST["times"]
    (only,) = origin_rows(a_recording(Origin("zed", (), 1500)))
    assert only == ("imported", "from zed, times in steps of 1500 ns")
