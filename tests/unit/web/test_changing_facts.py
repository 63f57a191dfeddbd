"""The facts about a recording are those of a report, and only changed entries are sent again."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

import pytest

from acp_proxy.web.changing_facts import ChangingFacts, Stopped
from tests.support.log_writer import LogWriter, handshake, record_conversation, text, update

if TYPE_CHECKING:
    from pathlib import Path


def test_only_changed_entries_are_sent_again(tmp_path: Path) -> None:
    """If a recording grows, `web` sends only those transcript entries that may have changed."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        for number in range(300):
            kind = ("agent_message_chunk", "agent_thought_chunk")[number % 2]
            recorder.to_client(update("s", kind, content=text(str(number))))
        facts = ChangingFacts(tmp_path / "x.db", unredacted=False, must_stop=lambda: False)
        first = facts.read()
        index = json.loads(zlib.decompress(first.entries))
        assert (index["first"], first.last) == (0, 303)
        assert first.meta["entries"] == len(index["seq"]) > 256
        block = facts.block("e0")
        recorder.to_client(update("s", "plan", entries=[]))
        second = facts.read()
        index = json.loads(zlib.decompress(second.entries))
        assert index["first"] == 256
        assert second.meta["entries"] == 256 + len(index["seq"])
        assert facts.block("e0") == block
        third = json.loads(zlib.decompress(facts.read().entries))
        assert (third["first"], third["seq"]) == (second.meta["entries"], [])
    assert facts.block("e9") is facts.block("g0") is None


def test_a_closed_page_stops_the_reading(tmp_path: Path) -> None:
    """If a page of `web` is closed, `web` soon stops reading the recording of this page."""
    path = record_conversation(tmp_path / "x.db")
    facts = ChangingFacts(path, unredacted=False, must_stop=lambda: True)
    with pytest.raises(Stopped):
        facts.read()
