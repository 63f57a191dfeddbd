"""`try` prints a conversation, while it runs, as the entries of its transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp_proxy.explain.transcript.entries import EntryKind, TranscriptEntry
from acp_proxy.explain.transcript.live_entries import LiveEntries, SaidText
from acp_proxy.explain.transcript.transcript import TranscriptReader
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
from tests.support.log_writer import line, notification, request, result
from tests.support.shipped_recordings import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXTS = (EntryKind.MESSAGE, EntryKind.THOUGHT)
COMPARED = (EntryKind.PROMPT, EntryKind.TOOL_CALL, EntryKind.PERMISSION, EntryKind.PLAN)


def live_items(lines: Iterator[tuple[str, bytes]]) -> Iterator[TranscriptEntry | SaidText]:
    """Yields the entries that `try` prints for lines."""
    entries = LiveEntries()
    for stream, raw in lines:
        yield from entries.take(Direction(stream), raw)


def essence(entry: TranscriptEntry) -> tuple[Any, ...]:
    """Returns an entry without numbers, times and kinds of calls, to compare it with another."""
    return (
        entry.kind, entry.title, entry.state, entry.is_failed, entry.by,
        tuple(entry.choices), tuple((block.label, block.text) for block in entry.blocks),
    )  # fmt: skip


@each_case("path", SHIPPED, ids=lambda path: path.stem)
def test_live_entries_are_those_of_the_transcript(path: Path) -> None:
    """For messages of the shipped recordings, `try` prints the same entries as `transcript`."""
    with RecordingReader(path) as reader:
        wanted = [
            item for item in TranscriptReader(reader).read() if isinstance(item, TranscriptEntry)
        ]
        rows = [row for row in reader.rows() if "raw" in row and row["stream"] != "stderr"]
    items = [*live_items((row["stream"], row["raw"]) for row in rows)]
    entries = [item for item in items if isinstance(item, TranscriptEntry)]
    ended = {entry.id for entry in entries if entry.kind is EntryKind.TOOL_CALL}
    assert sorted(map(str, map(essence, (e for e in entries if e.kind in COMPARED)))) == sorted(
        str(essence(entry))
        for entry in wanted
        if entry.kind in COMPARED
        and (entry.kind is not EntryKind.TOOL_CALL or entry.id in ended)
        and entry.state not in ("not answered", "open")
    )
    said = "".join(item.text for item in items if isinstance(item, SaidText))
    texts = (
        block.text.start
        for entry in wanted
        if entry.kind in TEXTS and entry.by == "agent"
        for block in entry.blocks
    )
    assert said == "".join(texts)


def _call(status: str, **more: Any) -> bytes:
    kind = "tool_call" if status == "pending" else "tool_call_update"
    update = {"sessionUpdate": kind, "toolCallId": "c", "status": status, **more}
    return line(notification("session/update", sessionId="s", update=update)).strip()


def test_a_call_is_shown_when_it_has_ended() -> None:
    """`try` prints the entry of a tool call only when the call or its turn has ended."""
    entries = LiveEntries()
    assert not [*entries.take(Direction.TO_CLIENT, _call("pending", title="Read a.txt"))]
    assert entries.running == ["Read a.txt"]
    (entry,) = entries.take(Direction.TO_CLIENT, _call("completed"))
    assert isinstance(entry, TranscriptEntry)
    assert (entry.title, entry.state) == ("Read a.txt", "completed")
    assert entries.running == []
    prompt = line(request(3, "session/prompt", sessionId="s", prompt=[])).strip()
    assert [*entries.take(Direction.TO_AGENT, prompt)]
    assert entries.open_request == (Direction.TO_AGENT, "session/prompt")
    assert not [*entries.take(Direction.TO_CLIENT, _call("pending", title="Never ends"))]
    answer = line(result(3, stopReason="cancelled")).strip()
    shown = [*entries.take(Direction.TO_CLIENT, answer)]
    assert [getattr(item, "title", "") for item in shown] == ["Never ends", "cancelled"]
    assert entries.open_request is None


def test_a_permission_request_is_about_the_announced_call() -> None:
    """`try` prints a permission request with the title of its tool call."""
    entries = LiveEntries()
    announced = _call("pending", title="Bash", rawInput={"x": 1})
    asked = request(1, "session/request_permission", sessionId="s", toolCall={"toolCallId": "c"})
    answer = result(1, outcome={"outcome": "cancelled"})
    assert not [*entries.take(Direction.TO_CLIENT, announced)]
    assert not [*entries.take(Direction.TO_CLIENT, line(asked).strip())]
    (entry,) = entries.take(Direction.TO_AGENT, line(answer).strip())
    assert isinstance(entry, TranscriptEntry)
    assert entry.title == "Bash"
    assert entries.call("s", "c")["rawInput"] == {"x": 1}
    assert entries.call("s", "d") == {}
