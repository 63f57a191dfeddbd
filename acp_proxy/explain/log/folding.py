"""Folds runs of chunks: frames that are pieces of one message become one value.

An agent streams a sentence in dozens of frames, and a person wants to read the sentence. A run of
frames ends where another message begins, at a marked pause, and at a frame that a fault changed or
cut.
"""

from collections.abc import Container, Iterable, Iterator

from attrs import define

from acp_proxy.base.limits import SHOWN_LINE
from acp_proxy.base.wording import byte_size, plain, seconds
from acp_proxy.explain.log.timeline import ARROWS, Cells, TimelineLine, began_ns
from acp_proxy.explain.origins import took
from acp_proxy.explain.pauses import ALWAYS_NS, Pauses
from acp_proxy.protocol.chunks import Chunk, chunk_of, mended
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording.recording import Recording
from acp_proxy.store.tables.checked_values import Row


@define
class ChunkRun:
    """Consecutive chunks of one message."""

    first: Row
    """The row of the first frame."""
    update: str
    last: int = 0
    """The number of the last frame."""
    last_ns: int = 0
    count: int = 0
    size: int = 0
    """The number of bytes in all frames together."""
    characters: int = 0
    """The number of characters in the text of all frames."""
    text: str = ""
    """The beginning of the text: at least `SHOWN_LINE` characters, or the whole text."""

    @property
    def item(self) -> "Row | ChunkRun":
        """The run itself; if the run has only one frame, the row of this frame."""
        return self if self.count > 1 else self.first

    def add(self, row: Row, chunk: Chunk) -> None:
        """Adds a frame to the run.

        Args:
            row: the row of the frame.
            chunk: the piece of text in the frame.
        """
        self.last, self.last_ns = row["seq"], row["t_ns"]
        self.count += 1
        self.size += row["size"]
        self.characters += len(chunk.text)
        if len(self.text) < SHOWN_LINE:
            self.text += chunk.text[:SHOWN_LINE]


@define
class RunFinder:
    """Decides which frames continue the run of the frame before them."""

    pauses: Pauses | None = None
    """The marked pauses, which end a run; None if a run ends only at pauses of `ALWAYS_NS` or
    more."""
    _key: tuple[object, ...] | None = None
    """The values that are equal in all chunks of a run."""
    _last: tuple[int, int] = (0, 0)

    def continues(self, row: Row, chunk: Chunk | None) -> bool:
        """Whether the next row continues the message of the row before it, without a pause.

        Args:
            row: the next row.
            chunk: the chunk in the row; None for a row that must not be folded.
        """
        key = chunk and (
            chunk.update, chunk.message_id, row["session"], row["stream"], row["turn"]
        )  # fmt: skip
        joined = key is not None and key == self._key and began_ns(row) - self._last[1] < ALWAYS_NS
        if joined and self.pauses is not None:
            joined = self.pauses.between(self._last, row) is None
        self._key, self._last = key, (row["seq"], row["t_ns"])
        return joined


def fold(
    rows: Iterable[Row], alone: Container[int] = (), pauses: Pauses | None = None
) -> Iterator[Row | ChunkRun]:
    """Yields rows, with a `ChunkRun` in place of two or more consecutive chunks.

    Args:
        rows: the rows of `RecordingReader.rows`, in order.
        alone: the numbers of frames that are not folded.
        pauses: the marked pauses, which end a run.
    """
    run: ChunkRun | None = None
    finder = RunFinder(pauses)
    for row in rows:
        chunk = None if row["seq"] in alone else chunk_in(row)
        is_same = finder.continues(row, chunk)
        if run is not None and not is_same:
            yield run.item
            run = None
        if chunk is None:
            yield row
        else:
            run = run or ChunkRun(row, chunk.update)
            run.add(row, chunk)
    if run is not None:
        yield run.item


def run_line(run: ChunkRun, recording: Recording | None = None) -> TimelineLine:
    """Renders a run of chunks as a line of the timeline, with the beginning of the text.

    Args:
        run: the run.
        recording: the recording. None if acp-proxy made it, so that all times are known.
    """
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
        took(recording, run.last_ns - first["t_ns"]),
        byte_size(run.size),
    )
    return TimelineLine(cells, text, first["stream"])


def chunk_in(row: Row) -> Chunk | None:
    """Returns the chunk in a frame; None without a chunk, or for a changed or cut frame."""
    if "raw" not in row or row["kind"] != "notification" or row.get("method") != UPDATE:
        return None
    if row["delivered"] != "full" or not row["newline"] or row["fault"] is not None:
        return None
    return chunk_of(row["raw"])
