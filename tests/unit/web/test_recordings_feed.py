"""The list of recordings comes once, and each recording again when it has changed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from acp_proxy.store.reader import RecordingReader
from acp_proxy.web import recordings_feed
from acp_proxy.web.recordings_feed import RecordingsFeed, name_of, state_of
from tests.support.log_writer import LogWriter, handshake, record_conversation
from tests.support.window import DEADLINE_S

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the feed look for changes at once."""
    monkeypatch.setattr(recordings_feed, "_LOOK_S", 0.005)
    monkeypatch.setattr(recordings_feed, "_SHARE", 0)


def _entry(path: Path) -> dict[str, Any]:
    return {"live": False, "at": path.stat().st_mtime if path.exists() else 0}


class Feed:
    """The list as one page has it.

    Attributes:
        sent: the names in the order in which they came.
        removed: the names that were removed.
        largest: the largest number of recordings in one line.
    """

    def __init__(self, directory: Path) -> None:
        self.sent: list[str] = []
        self.removed: list[str] = []
        self.largest = 0
        self.is_complete = False
        self._lines = RecordingsFeed(directory, _entry, unredacted=False).lines()

    async def until(self, holds: Callable[[Feed], Any]) -> None:
        """Reads lines until something holds."""
        with trio.fail_after(DEADLINE_S):
            while not holds(self):
                line: dict[str, Any] = json.loads(await anext(self._lines))
                assert line.keys() == {"recordings", "removed", "complete", "unredacted"}
                self.sent += [entry["name"] for entry in line["recordings"]]
                self.removed += line["removed"]
                self.largest = max(self.largest, len(line["recordings"]))
                self.is_complete = line["complete"]

    async def close(self) -> None:
        """Closes the page."""
        await self._lines.aclose()  # type: ignore[attr-defined]


async def test_running_recordings_come_first(tmp_path: Path) -> None:
    """`web` sends its list of recordings in small groups: running ones, then from the newest on."""
    for number in range(100):
        (tmp_path / f"{number:03}.db").write_bytes(b"x")
    with LogWriter(tmp_path / "000-running.db"):
        feed = Feed(tmp_path)
        await feed.until(lambda feed: feed.is_complete)
        await feed.close()
    assert feed.sent == ["000-running.db", *(f"{n:03}.db" for n in reversed(range(100)))]
    assert 1 < feed.largest <= 10


async def test_changes_come_once(tmp_path: Path) -> None:
    """If a recording is new, changed or removed, `web` sends its list only this one change."""
    record_conversation(tmp_path / "a.db")
    path = record_conversation(tmp_path / "b.db")
    feed = Feed(tmp_path)
    await feed.until(lambda feed: feed.is_complete)
    record_conversation(tmp_path / "c.db")
    await feed.until(lambda feed: len(feed.sent) == 3)
    os.utime(path, (1, 1))
    await feed.until(lambda feed: len(feed.sent) == 4)
    path.unlink()
    await feed.until(lambda feed: feed.removed)
    await feed.close()
    assert (feed.sent, feed.removed) == (["b.db", "a.db", "c.db", "b.db"], ["b.db"])


async def test_any_name_of_a_file_can_be_sent(tmp_path: Path) -> None:
    """In the list of `web`, a file name that is not UTF-8 is shown with replacement characters."""
    (tmp_path / os.fsdecode(b"\xff\n%2e.db")).write_bytes(b"x")
    feed = Feed(tmp_path)
    await feed.until(lambda feed: feed.is_complete)
    await feed.close()
    assert sorted(feed.sent) == ["\ufffd\n%2e.db"]
    assert name_of(Path("x.db")) == "x.db"


def test_reading_changes_no_state(tmp_path: Path) -> None:
    """For the list of `web`, a recording has changed if it grew or ended, not if it was read."""
    path = tmp_path / "x.db"
    states = []
    with LogWriter(path) as recorder:
        handshake(recorder)
        recorder.index()
        states.append(state_of(path))
        with RecordingReader(path) as reader:
            assert [*reader.frames()]
            assert state_of(path) == states[0]
        assert state_of(path) == states[0]
        recorder.to_client({"x": 1})
        states.append(state_of(path))
        recorder.close()
        recorder.finish()
    states.append(state_of(path))
    with RecordingReader(path):
        assert state_of(path) == states[2]
    assert len({*map(tuple, states)}) == 3
    path.unlink()
    assert state_of(path) == []
