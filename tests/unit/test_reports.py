"""The bug reports of the test data are recordings, and their list names existing frames."""

from __future__ import annotations

import json

from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
from tests.support.indexed_rows import query
from tests.support.shipped_recordings import REPORTS as DATA

ENTRIES = json.loads((DATA / "reports.json").read_text(encoding="utf-8"))


def test_there_are_enough_of_them() -> None:
    """The tests have at least thirty bug reports and ten healthy conversations."""
    sides = [entry["side"] for entry in ENTRIES]
    assert sides.count("agent") + sides.count("client") >= 30
    assert min(sides.count("agent"), sides.count("client"), sides.count(None)) >= 10
    assert all(entry["thread"] for entry in ENTRIES if entry["side"])


@each_case("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_every_frame_that_is_named_is_there(entry: dict[str, object]) -> None:
    """Each bug report of the tests names frames that its recording has."""
    with RecordingReader(DATA / str(entry["file"])) as reader:
        frames = set(query(reader.connection, "SELECT seq FROM frames"))
        events = set(query(reader.connection, "SELECT seq FROM events"))
    named = {entry["seq"], *json.loads(json.dumps(entry["also"]))} - {None}
    assert named <= frames | events
    assert bool(named) == (entry["side"] is not None)
    assert not entry["side"] or entry["seq"] in frames
