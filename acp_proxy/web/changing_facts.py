"""Reads the facts about a whole recording (turns, findings, entries) repeatedly while it grows.

One reading takes as long as making a report. So the facts have a `RecordingReader` of their own,
and new rows can be read and sent meanwhile.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from attrs import evolve

from acp_proxy.base.errors import AcpProxyError
from acp_proxy.base.forms import converter
from acp_proxy.explain.show.facts_line import facts_line
from acp_proxy.explain.show.unanswered import UNANSWERED
from acp_proxy.protocol.json_text import encode_json
from acp_proxy.report.conversation_entries import ENTRIES, ConversationEntries
from acp_proxy.report.data_blocks import compressed
from acp_proxy.report.facts import find_verdict
from acp_proxy.report.report_model import ReportOptions, described, read_report_data
from acp_proxy.store.queries.frames import last_number
from acp_proxy.store.reader import RecordingReader


class Stopped(AcpProxyError):
    """The page no longer needs the data that is being read."""


class RecordingFacts(NamedTuple):
    """The facts about a recording up to some row."""

    meta: dict[str, Any]
    """The members of ``meta`` that do not depend on blocks of rows."""
    entries: bytes
    """The index of the conversation's entries, compressed. It begins with the first block of
    entries that differs from the previous reading."""
    last: int
    """The number of the last row that the facts are about."""


class ChangingFacts:
    """The facts about one recording for one page.

    Args:
        path: the recording.
        unredacted: whether secrets are shown.
        must_stop: returns whether to stop reading; called for each row, and while the recording's
            log is indexed.

    Raises:
        UnreadableRecording: the recording cannot be read.
    """

    def __init__(self, path: Path, *, unredacted: bool, must_stop: Callable[[], bool]) -> None:
        self._reader = RecordingReader(path, unredacted=unredacted)
        self._must_stop = must_stop
        self._blocks: dict[str, bytes] = {}
        """The blocks of entries and images, by their names."""

    def read(self) -> RecordingFacts:
        """Reads the facts about all rows that the recording has now.

        Raises:
            Stopped: the reading was stopped.
            UnreadableRecording: the recording cannot be read.
        """
        reader = self._reader
        reader.refresh(self._must_stop)
        last = last_number(reader)
        options = ReportOptions(now_ns=time.monotonic_ns() if reader.live else None)
        data = read_report_data(reader, options, self._watch)
        entries = ConversationEntries(reader, options, data.images, self._watch(reader.rows()))
        blocks: dict[str, bytes] = {}
        index: dict[str, Any] = {}
        for name, content in entries.parts():
            if name == "entries":
                index = json.loads(content)
            else:
                blocks[name] = compressed(content)
        number = 0
        while (name := f"e{number}") in blocks and blocks[name] == self._blocks.get(name):
            number += 1
        first, self._blocks = min(number * ENTRIES, len(index["seq"])), blocks
        index = {name: value[first:] for name, value in index.items() if name != "first"}
        # The page of a running chat shows waits and their durations with a clock of its own.
        spent = {} if data.summary.live else data.summary.spent
        summary = evolve(data.summary, waiting=[], spent=spent)
        verdict = find_verdict(summary)
        is_wait = verdict.finding is not None and verdict.finding.rule == UNANSWERED
        meta = {
            **described(data),
            **entries.counts(),
            "partial": False,
            "verdict": None if summary.live and is_wait else converter.unstructure(verdict),
            "facts": converter.unstructure(facts_line(summary)),
        }
        return RecordingFacts(meta, compressed(encode_json({"first": first, **index})), last)

    def close(self) -> None:
        """Closes the recording."""
        self._reader.close()

    def block(self, name: str) -> bytes | None:
        """Returns a block of entries or an image; None if there is no such block.

        Args:
            name: the name of the block, such as ``e0`` or ``g1``.
        """
        return self._blocks.get(name)

    def _watch(self, items: Iterator[Any]) -> Iterator[Any]:
        for item in items:
            if self._must_stop():
                raise Stopped("the facts are not needed any more")
            yield item
