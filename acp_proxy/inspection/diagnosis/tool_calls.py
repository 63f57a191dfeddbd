"""Tool calls: what became of each, and which were under way."""

from collections import Counter
from collections.abc import Iterable

from acp_proxy.inspection.describe.tools import tool_content, tool_name
from acp_proxy.inspection.describe.values import Value, word
from acp_proxy.inspection.diagnosis.course import Call
from acp_proxy.inspection.diagnosis.facts import FailedCall, ToolTally
from acp_proxy.inspection.diagnosis.lines import HEAD, Line, read_lines
from acp_proxy.protocol.updates import FAILED, RUNNING, kind_and_update
from acp_proxy.safe_text import plain
from acp_proxy.store.reader import RecordingReader

_MOST_SEARCHED = 1_000
_MOST_FAILED = 100


def read_tool_calls(
    reader: RecordingReader, calls: dict[tuple[str | None, str], Call]
) -> tuple[list[ToolTally], list[FailedCall]]:
    """All tool calls by kind with their last status, the most frequent first; and what failed."""
    told: dict[tuple[str | None, str], Value] = {key: {} for key in calls}
    edges = (seq for call in calls.values() for seq in (call.first, call.last))
    for line in read_lines(reader, edges):
        key = (line.session, line.tool_call or "")
        if key in told:
            _learn(told[key], line)
    silent = [
        key
        for key, said in told.items()
        if calls[key].count > 2 and said.get("status_seq") != calls[key].last
    ]
    for session, tool_call in silent[:_MOST_SEARCHED]:
        for line in lines_of_call(reader, session, tool_call, calls[session, tool_call]):
            _learn(told[session, tool_call], line)
    tallies: dict[str, Counter[str]] = {}
    for said in told.values():
        kinds = tallies.setdefault(said.get("kind") or "other", Counter())
        kinds[said.get("status") or "no status"] += 1
    every = [
        ToolTally(plain(kind), sum(n.values()), {plain(status): n[status] for status in n})
        for kind, n in tallies.items()
    ]
    return sorted(every, key=lambda tally: (-tally.count, tally.kind)), _failed(reader, told)


def _failed(reader: RecordingReader, told: dict[tuple[str | None, str], Value]) -> list[FailedCall]:
    """The first tool calls that have failed, in the order in which they said so."""
    failed = {
        (said["status_seq"], call): (session, said)
        for (session, call), said in told.items()
        if said.get("status") in FAILED
    }
    first = dict(sorted(failed.items())[:_MOST_FAILED])
    found = []
    for line in read_lines(reader, (seq for seq, _ in first), HEAD):
        session, said = first.get((line.seq, line.tool_call or ""), (None, None))
        if said is not None:
            _, update = kind_and_update(line.part("params"))
            title = plain(said.get("title") or line.tool_call or "")[:80]
            why = plain(tool_content(update))[:200]
            found.append(
                FailedCall(line.seq, session, line.tool_call or "", title, said["status"], why)
            )
    return found


def running_calls(reader: RecordingReader, turn: int, first: int, last: int) -> dict[int, str]:
    """The tool calls of a turn that were not over at a frame: their first frames and titles."""
    sql = (
        "SELECT seq FROM frames WHERE seq BETWEEN ? AND ? AND ((turn = ? AND tool_call IS NOT NULL"
        " AND method = 'session/update') OR kind = 'batch')"
    )
    seqs = (row["seq"] for row in reader.query(sql, (first, last, turn)))
    said: dict[str | None, Value] = {}
    for line in read_lines(reader, seqs, HEAD):
        if line.tool_call is None or line.turn != turn or line.method != "session/update":
            continue  # another message of a batch
        _learn(said.setdefault(line.tool_call, {"seq": line.seq}), line)
    running = [call for call in said.values() if call.get("status") in RUNNING]
    return {call["seq"]: plain(call.get("title") or "")[:80] for call in running}


def lines_of_call(
    reader: RecordingReader, session: str | None, tool_call: str, call: Call
) -> Iterable[Line]:
    """All updates of a tool call, those in batches included."""
    sql = (
        "SELECT seq FROM frames WHERE seq BETWEEN ? AND ? AND ((tool_call = ? AND session IS ?"
        " AND method = 'session/update') OR kind = 'batch') LIMIT 10000"
    )
    rows = reader.query(sql, (call.first, call.last, tool_call, session))
    for line in read_lines(reader, (row["seq"] for row in rows), HEAD):
        if (line.session, line.tool_call, line.method) == (session, tool_call, "session/update"):
            yield line


def _learn(said: Value, line: Line) -> None:
    """Takes over what an update says of its call; what it leaves out stays."""
    _, update = kind_and_update(line.part("params"))
    for name, found in (
        ("kind", word(update, "kind", "tool")),
        ("status", word(update, "status")),
        ("title", tool_name(update) if word(update, "title", "name", "tool") else ""),
    ):
        if found:
            said[name] = found
            said[f"{name}_seq"] = line.seq
