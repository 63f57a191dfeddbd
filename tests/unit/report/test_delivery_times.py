"""When frames that faults made late were due, worked out from the plan and the seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.capture.log_format import FAULT, MADE, PART, TO_CLIENT
from acp_proxy.report.delivery_times import delivery_delays
from acp_proxy.store.reader import RecordingReader
from tests.log_writer import MS, LogWriter, line, notification

if TYPE_CHECKING:
    from pathlib import Path

LATE = """
seed = 7
[[fault]]
kind = "latency"
where = "method:b"
latency_ms = 20
"""


def recorded(tmp_path: Path, plan: str, *fired: str) -> dict[int, int]:
    """The delays of frames 2 (a), 3 (b) and 4 (c), a millisecond or two apart.

    Args:
        tmp_path: where the recording is made.
        plan: the recorded plan of faults.
        fired: the rules that are recorded to have fired at b.
    """
    path = tmp_path / "faults.db"
    with LogWriter(path, fault_plan=plan, seed=7) as recorder:
        for method in "abc":
            recorder.to_client(notification(method))
            if method == "b":
                for rule in fired:
                    action = {"rule": rule, "action": "latency", "delivered": "full", "same": 1}
                    recorder.event(FAULT, TO_CLIENT, **action)
        recorder.finish()
    with RecordingReader(path) as reader:
        return delivery_delays(reader)


def test_a_late_frame_and_those_behind_it_have_delays(tmp_path: Path) -> None:
    """Frame 4 came two milliseconds later and waits for frame 3."""
    assert recorded(tmp_path, LATE, "latency") == {3: 20 * MS, 4: 18 * MS}


def test_a_copy_is_as_late_as_its_frame(tmp_path: Path) -> None:
    """A line that a rule made up has a number and a delay of its own."""
    plan = (
        LATE
        + """
[[fault]]
kind = "duplicate"
where = "method:b"
"""
    )
    path = tmp_path / "copies.db"
    with LogWriter(path, fault_plan=plan, seed=7) as recorder:
        recorder.to_client(notification("b"))
        for rule in ("latency", "duplicate"):
            fields = {"rule": rule, "action": rule, "delivered": "full", "same": 1}
            recorder.event(FAULT, TO_CLIENT, **fields)
        recorder._record(PART, TO_CLIENT, line(notification("b")))
        recorder.event(MADE, TO_CLIENT, rule="duplicate", action="duplicate", at=recorder.t_ns)
        recorder.finish()
    with RecordingReader(path) as reader:
        assert delivery_delays(reader) == {2: 20 * MS, 3: 20 * MS}


def test_jitter_is_drawn_again_from_the_recorded_seed(tmp_path: Path) -> None:
    """The same seed gives the same delay in every report."""
    delays = recorded(tmp_path, LATE + "jitter_ms = 10\n", "latency")
    assert delays[3] == 14_608_988
    assert delays[4] == delays[3] - 2 * MS


@pytest.mark.parametrize(
    ("plan", "fired"),
    [
        pytest.param(LATE, ["other"], id="another rule is recorded"),
        pytest.param(LATE.replace("method:b", "method:c"), ["latency"], id="another frame is"),
        pytest.param(LATE, [], id="nothing is recorded to have fired"),
        pytest.param("no plan", ["latency"], id="the plan cannot be read"),
        pytest.param("", ["latency"], id="there is no plan"),
    ],
)
def test_nothing_is_said_where_the_plan_gives_something_else(
    tmp_path: Path, plan: str, fired: list[str]
) -> None:
    """A plan may have been masked, or a recording changed by hand."""
    assert recorded(tmp_path, plan, *fired) == {}
