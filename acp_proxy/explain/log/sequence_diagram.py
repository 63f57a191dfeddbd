"""Draws a sequence diagram of a recording, in the language of Mermaid.

Each message, or run of chunks, is an arrow. A request of the agent points to the party that has to
act: a person, or the client's files or terminals. A message that a fault changed has two arrows,
one to acp-proxy and one from acp-proxy. Turns, pauses, events and lines on stderr are notes.

Viewers refuse a diagram that is too long. Therefore its length is limited, and the last note tells
how many messages and events are left out.

Many characters have a meaning for Mermaid, for its renderer, or for the page around the diagram.
Therefore only harmless characters are written unchanged. All others are written as numeric
entities.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from attrs import define

from acp_proxy.base.limits import SHORT_LIST, TITLE
from acp_proxy.base.wording import counted, duration, plain
from acp_proxy.explain.hints import HintReader
from acp_proxy.explain.log.folding import ChunkRun, fold, run_line
from acp_proxy.explain.log.timeline import event_line, frame_line
from acp_proxy.explain.observed_faults import delivered_instead, described
from acp_proxy.explain.pauses import Pauses
from acp_proxy.explain.stats.turn_times import Part, waiting_part
from acp_proxy.recording.filters import EVERYTHING, Filter
from acp_proxy.store.queries.exchanges import TurnRow, turns
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row

LONGEST = 72
"""The largest number of characters of a text that are shown."""
_LONGEST_WRITTEN = 160
"""The largest length of a text with its entities, in UTF-16 code units."""
_HARMLESS = frozenset(" .,:/_-=*?!'\"()[]…–→←✓✗×·↩")
_LIGATURE = "\ufb02"
"""A letter with which Mermaid marks entities."""
_WORDS = re.compile("^(?:no)?wrap|style|classDef", re.IGNORECASE)
"""Words that Mermaid treats as commands."""


def escaped(text: str, most: int = LONGEST) -> str:
    """Returns a text, cut and on one line, with entities for the characters special to Mermaid.

    Args:
        text: any text.
        most: the largest number of characters that are shown.
    """
    shown = plain(text).strip()
    words = {match.start() for match in _WORDS.finditer(shown)}
    written: list[str] = []
    left = _LONGEST_WRITTEN
    for n, char in enumerate(shown):
        is_plain = (char.isalnum() or char in _HARMLESS) and char != _LIGATURE
        part = char if is_plain and n not in words else f"#{ord(char)};"
        left -= len(part) + (part > "\uffff")
        if n >= most or left < 0:
            return "".join(written).rstrip() + "…"
        written.append(part)
    return "".join(written)


def arrow(sender: str, kind: str, receiver: str, text: str) -> str:
    """Returns the statement that draws a message.

    Args:
        sender: the name of a participant.
        kind: the arrow in the language of Mermaid, such as ``->>``.
        receiver: the name of a participant.
        text: the text above the arrow.
    """
    return f"    {sender}{kind}{receiver}: {escaped(text)}\n"


def note(place: str, text: str) -> str:
    """Returns the statement that draws a note.

    Args:
        place: the place of the note, such as ``over A,B``.
        text: the text of the note.
    """
    return f"    Note {place}: {escaped(text)}\n"


def participant(name: str, text: str) -> str:
    """Returns the statement that declares a participant.

    Args:
        name: the name that other statements use.
        text: the text above the participant's line.
    """
    return f"    participant {name} as {escaped(text, 40)}\n"


MOST = 200
"""The default for the largest number of arrows and notes. With this number, a diagram stays within
Mermaid's limit of 50,000 characters."""

_CLIENT, _AGENT, _PROXY = "C", "A", "X"
_PARTS = {Part.PERSON: "P", Part.FILES: "F", Part.TERMINALS: "T"}
_TITLES = {
    "P": "Person", "F": "Files", "T": "Terminals", _CLIENT: "Client", _PROXY: "acp-proxy",
    _AGENT: "Agent",
}  # fmt: skip
"""The titles of the participants by their names, from left to right."""
_ARROWS = {"request": "->>", "response": "-->>", "error": "--x"}
"""Mermaid's arrow for each kind of message."""
_NOTIFICATION, _LOST = "-)", "-x"
_BOTH = f"over {_CLIENT},{_AGENT}"


@define
class _StderrRun:
    first: Row
    last: Row
    count: int = 1


_Item = Row | ChunkRun | _StderrRun


class SequenceDiagram:
    """Draws one recording as a sequence diagram.

    Args:
        reader: the recording.
        chosen: the filter for the frames and events that are drawn.
        most: the largest number of arrows and notes.

    Attributes:
        left_out: how many of the chosen frames and events were left out; 0 before `lines` is
            called.
    """

    def __init__(
        self, reader: RecordingReader, chosen: Filter = EVERYTHING, most: int = MOST
    ) -> None:
        self.left_out = 0
        self._reader, self._chosen, self._most = reader, chosen, most
        self._recording = reader.recording
        self._pauses, self._hints = Pauses(reader), HintReader(reader)
        self._used = {_CLIENT, _AGENT}
        self._turns: dict[int, TurnRow] = {}
        self._sessions = 0

    def lines(self, watch: Callable[[Iterator[Row]], Iterable[Row]] = iter) -> Iterator[str]:
        """Yields the lines of the diagram.

        Args:
            watch: a function that yields the rows unchanged, and may show the progress.
        """
        self._turns = {turn.prompt_seq: turn for turn in turns(self._reader)}
        self._sessions = len({turn.session for turn in self._turns.values()})
        drawn = self._drawn(watch(self._reader.rows(self._chosen)))
        recording = self._recording
        names = {_CLIENT: recording.client_title, _AGENT: recording.agent_title}
        yield "sequenceDiagram\n"
        if title := escaped(recording.name):
            yield f"    title {title}\n"
        for name, word in _TITLES.items():
            if name in self._used:
                yield participant(
                    name, ": ".join(filter(None, (word, names.get(name, "").strip())))
                )
        yield from drawn
        if self.left_out:
            yield note(
                _BOTH, f"{self.left_out:,} frames and events are left out (--max {self._most})"
            )

    def _drawn(self, rows: Iterable[Row]) -> list[str]:
        drawn: list[str] = []
        rows_drawn = 0
        before: tuple[int, int] | None = None
        for item in _items(fold(rows, pauses=self._pauses)):
            lines = list(self._between(item, before))
            lines += self._lines(item)
            if len(drawn) + len(lines) > self._most:
                self.left_out = self._total() - rows_drawn
                break
            drawn += lines
            rows_drawn += 1 if isinstance(item, dict) else item.count
            before = _end(item)
        return drawn

    def _total(self) -> int:
        is_all = self._chosen is EVERYTHING
        frames = () if is_all else self._reader.heads(self._chosen)
        count = self._reader.count() if is_all else sum(1 for _ in frames)
        return count + sum(1 for _ in self._reader.events(self._chosen))

    def _between(self, item: _Item, before: tuple[int, int] | None) -> Iterator[str]:
        """Yields the notes before an item: a pause before the item, and the start of a turn."""
        row = item if isinstance(item, dict) else item.first
        if (pause := self._pauses.between(before, row)) is not None:
            yield note(_BOTH, pause.text(self._recording.step_ns))
        if (turn := self._turns.get(row["seq"])) is not None:
            yield note(_BOTH, self._turn_text(turn))

    def _turn_text(self, turn: TurnRow) -> str:
        facts = [f"Turn {turn.id}"]
        if turn.end_seq is None:
            open_ = "not ended so far" if self._reader.live else "open"
            facts.append(open_ if self._reader.is_open else "never ended")
        else:
            facts += [turn.stop_reason or "", duration(turn.duration_ns, self._recording.step_ns)]
        if turn.tool_calls:
            facts.append(counted(turn.tool_calls, "tool call"))
        if self._sessions > 1:
            facts.append(turn.session or "no session")
        return " · ".join(filter(None, facts))

    def _lines(self, item: _Item) -> Iterator[str]:
        if isinstance(item, ChunkRun):
            line = run_line(item, self._recording)
            sender, receiver = _ends(item.first)
            took = f", {line.cells.pair}" if line.cells.pair else ""
            text = f"{line.cells.number} {line.cells.method}{took}: {line.text}"
            yield arrow(sender, _NOTIFICATION, receiver, text)
        elif isinstance(item, _StderrRun):
            first = item.first["seq"]
            span = f"{first}" if item.count == 1 else f"{first}–{item.last['seq']}"
            many = f" ×{item.count}" if item.count > 1 else ""
            yield note(f"right of {_AGENT}", f"{span} stderr{many}: {frame_line(item.first).text}")
        elif "raw" not in item:
            line = event_line(item)
            yield note(_BOTH, f"{line.cells.number} {line.cells.method}: {line.text}")
        else:
            yield from self._frame(item)
            members = item.get("members", [])
            for member in members[:SHORT_LIST]:
                yield from self._frame({**member, "newline": None, "fault": None, "fired": None})
            if more := len(members[SHORT_LIST:]):
                yield note(_BOTH, f"{counted(more, 'more message')} of the batch {item['seq']}")

    def _frame(self, row: Row) -> Iterator[str]:
        """Yields the arrows of a message. A message that a fault changed has two arrows."""
        sender, receiver = _ends(row)
        self._used |= {sender, receiver}
        kind = _ARROWS.get(row["kind"], _NOTIFICATION)
        if row["kind"] == "request" and row["response_seq"] is None and not self._reader.is_open:
            kind = _LOST
        fired = row.get("fired") or []
        if not fired:
            is_lost = row.get("delivered") not in (None, "full")
            yield arrow(sender, _LOST if is_lost else kind, receiver, self._text(row))
            return
        self._used.add(_PROXY)
        own_text = self._text({**row, "fault": None, "delivered": "full"})
        effects = "; ".join(described(row))
        what = f"{row['seq']} {effects}"
        if any(fault["made"] for fault in fired):
            what = f"{own_text}, {effects}"
        else:
            yield arrow(sender, kind, _PROXY, own_text)
        delivered = fired[-1]["delivered"]
        if isinstance(delivered, bytes) and delivered_instead(row) is not None:
            what += f": {delivered[:TITLE].decode(errors='replace').strip()}"
        yield arrow(_PROXY, _LOST if row["delivered"] == "none" else kind, receiver, what)

    def _text(self, row: Row) -> str:
        step_ns = self._recording.step_ns
        hints = self._hints.of(row)
        line = frame_line(row, live=self._reader.is_open, hints=hints, step_ns=step_ns)
        cells = line.cells
        is_request = row["kind"] == "request"
        took = f" {cells.pair if is_request else duration(row['latency_ns'], step_ns)}"
        pair = took if cells.pair and not cells.pair.startswith("→") else ""
        what = f"{cells.number} {cells.method or row['kind']}{pair.rstrip()}"
        return f"{what}: {line.text}" if line.text else what


def _items(items: Iterable[Row | ChunkRun]) -> Iterator[_Item]:
    """Yields items, with one item in place of consecutive lines on stderr."""
    for is_stderr, group in groupby(items, _is_stderr):
        if not is_stderr:
            yield from group
            continue
        lines = (line for line in group if isinstance(line, dict))
        run = _StderrRun(first := next(lines), first)
        for run.last in lines:
            run.count += 1
        yield run


def _is_stderr(item: Row | ChunkRun) -> bool:
    return isinstance(item, dict) and item["kind"] == "stderr" and "raw" in item


def _end(item: _Item) -> tuple[int, int]:
    """Returns the number and the time of an item's last frame."""
    if isinstance(item, ChunkRun):
        return item.last, item.last_ns
    row = item if isinstance(item, dict) else item.last
    return row["seq"], row["t_ns"]


def _ends(row: Row) -> tuple[str, str]:
    """Returns the participants from which and to which the arrow of a frame is drawn."""
    is_request = row["stream"] == "to-client" and row["kind"] == "request"
    is_answer = row["stream"] == "to-agent" and row["kind"] in ("response", "error")
    client = _CLIENT
    if is_request or is_answer:
        client = _PARTS.get(waiting_part(row["method"]), _CLIENT)
    return (client, _AGENT) if row["stream"] == "to-agent" else (_AGENT, client)
