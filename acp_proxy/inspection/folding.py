"""Folds runs of chunks: frames that are the pieces of one message become one value.

An agent streams a sentence in dozens of frames, and a person wants to read the sentence. A run is
what stands side by side: anything else that is shown ends it, so that the order on the screen is
the order on the wire; and so do a long silence and whatever is odd about a frame. However long a
run gets, only the beginning of its text is kept.
"""

from collections.abc import Container, Iterable, Iterator
from typing import Any

from attrs import define

from acp_proxy.inspection.timeline import ARROWS, SILENCE_NS, Cells, TimelineLine, began_ns
from acp_proxy.protocol.chunks import Chunk, chunk_of, mended
from acp_proxy.safe_text import plain
from acp_proxy.wording import byte_size, duration, seconds

KEPT = 2000
"""Characters of a run's text that are kept; a line of the timeline shows no more."""

Row = dict[str, Any]


@define
class ChunkRun:
    """At least two chunks of one message that came one after the other."""

    first: Row
    """The row of the first frame."""
    update: str
    message_id: str | None
    last: int
    """The number of the last frame."""
    last_ns: int
    count: int
    size: int
    """Bytes of all frames together."""
    characters: int
    """Of the whole text."""
    text: str
    """The beginning of the text, at least `KEPT` characters of it if there are as many."""

    @classmethod
    def beginning(cls, row: Row, chunk: Chunk) -> "ChunkRun":
        """A run of one frame so far.

        Args:
            row: the row of its frame.
            chunk: the chunk in that frame.
        """
        return cls(
            row,
            chunk.update,
            chunk.message_id,
            row["seq"],
            row["t_ns"],
            1,
            row["size"],
            len(chunk.text),
            chunk.text[:KEPT],
        )

    def takes(self, row: Row, chunk: Chunk) -> bool:
        """Whether a frame goes on with the same message, and soon enough.

        Args:
            row: the row of the frame.
            chunk: the chunk in that frame.
        """
        first = self.first
        return (
            chunk.update == self.update
            and chunk.message_id == self.message_id
            and row["session"] == first["session"]
            and row["stream"] == first["stream"]
            and row["turn"] == first["turn"]
            and began_ns(row) - self.last_ns < SILENCE_NS
        )

    def add(self, row: Row, chunk: Chunk) -> None:
        """Takes one more frame in.

        Args:
            row: the row of the frame.
            chunk: the chunk in that frame.
        """
        self.last, self.last_ns = row["seq"], row["t_ns"]
        self.count += 1
        self.size += row["size"]
        self.characters += len(chunk.text)
        if len(self.text) < KEPT:
            self.text += chunk.text[:KEPT]


def fold(rows: Iterable[Row], alone: Container[int] = ()) -> Iterator[Row | ChunkRun]:
    """Streams rows with each run of chunks as one value; a chunk by itself stays a row.

    Args:
        rows: of `RecordingReader.rows`, in their order.
        alone: numbers of frames that are part of no run.
    """
    run: ChunkRun | None = None
    for row in rows:
        chunk = None if row["seq"] in alone else _chunk(row)
        if run is not None:
            if chunk is not None and run.takes(row, chunk):
                run.add(row, chunk)
                continue
            yield run if run.count > 1 else run.first
        run = None
        if chunk is None:
            yield row
        else:
            run = ChunkRun.beginning(row, chunk)
    if run is not None:
        yield run if run.count > 1 else run.first


def run_line(run: ChunkRun) -> TimelineLine:
    """Renders a run of chunks: all of their text that a line has room for."""
    first = run.first
    text = plain(mended(run.text))
    if run.characters > len(run.text):
        text = f"{text}… ({run.characters} characters)"
    cells = Cells(
        f"{first['seq']}–{run.last}",
        seconds(first["t_ns"]),
        ARROWS[first["stream"]],
        f"{run.update} ×{run.count}",
        "",
        duration(run.last_ns - first["t_ns"]),
        byte_size(run.size),
    )
    return TimelineLine(cells, text, first["stream"])


def _chunk(row: Row) -> Chunk | None:
    """What a frame is a piece of, unless there is something odd about it."""
    if row["kind"] != "notification" or row.get("method") != "session/update":
        return None
    if row["delivered"] != "full" or not row["newline"] or row["fault"] is not None:
        return None
    return chunk_of(row["raw"])
