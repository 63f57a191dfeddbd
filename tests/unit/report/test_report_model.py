"""A report page has the same facts about a recording as the JSON of the commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.errors import BadFilter
from acp_proxy.report import report_model
from acp_proxy.report.data_blocks import report_blocks
from acp_proxy.report.report_model import ReportOptions, read_report_data
from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import run
from tests.support.report_data import decode
from tests.support.shipped_recordings import SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

TOUR = next(path for path in SHIPPED if path.stem == "tour")


def meta_of(path: Path, **options: Any) -> dict[str, Any]:
    """Returns the meta block of a report."""
    with RecordingReader(path) as reader:
        return decode(report_blocks(reader, ReportOptions(**options))).meta


def printed(*words: str | Path) -> Any:
    """Returns what a command prints as JSON."""
    return json.loads(run("inspect", *words, "--json").stdout)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_messages_are_read_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To make a page, `report` reads the messages of a recording only once."""
    passes = []
    runs = RecordingReader.runs

    def counted(self: RecordingReader, *arguments: Any) -> Any:
        passes.append(arguments)
        return runs(self, *arguments)

    monkeypatch.setattr(RecordingReader, "runs", counted)
    with RecordingReader(path) as reader:
        read_report_data(reader, ReportOptions())
    assert len(passes) == 1


@pytest.mark.parametrize("path", [TOUR, SHIPPED[0]], ids=lambda path: path.stem)
def test_it_is_what_the_commands_print(path: Path) -> None:
    """A report page has the values that `show` and `stats` print."""
    meta, stats = meta_of(path), printed("stats", path)
    assert meta["summary"] == printed("show", path)
    assert meta["stats"] == {**stats, "waterfall": None}
    (checked,) = printed("check", path)["recordings"]
    actual = [(finding["rule"], finding["seq"], finding["text"]) for finding in checked["findings"]]
    assert [(f["rule"], f["seq"], f["text"]) for f in meta["summary"]["problems"]] == actual
    for turn, steps in zip(stats["turns"], meta["waterfalls"], strict=True):
        assert printed("stats", path, "--turn", str(turn["id"]))["waterfall"] == steps
    assert meta["last_turn"] == len(stats["turns"])
    assert meta["known_labels_complete"] is True


def test_only_the_beginning_of_a_large_recording_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If only a recording's beginning was checked, its report page says so."""
    assert meta_of(TOUR)["summary"]["checked"]["is_whole"] is True
    monkeypatch.setattr(report_model, "CHECKED_FRAMES", 3)
    assert meta_of(TOUR)["summary"]["checked"]["frames"] == 3


def test_a_wrong_filter_is_an_error_at_once() -> None:
    """`report` refuses an invalid filter before it reads the recording."""
    with RecordingReader(TOUR) as reader:
        for options in (ReportOptions("kind:nothing"), ReportOptions(turn=99)):
            with pytest.raises(BadFilter):
                read_report_data(reader, options)
