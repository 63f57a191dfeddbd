"""What has passed without the fault engine, and what the engine has still to be given.

It passed by, on a bare pump in a direction without faults, or it passed ahead, since the engine had
foreseen that nothing happens to it. The engine has to know of it all the same, in the order in
which it came, but not at once: to read a frame costs more than to move it, and its receiver waits.
So it is given when it is quiet, when there is much of it, or when a frame comes of which the engine
cannot be sure.
"""

from collections import deque
from collections.abc import Callable, Mapping

from acp_proxy.protocol.peers import Direction
from acp_proxy.runtime.line_cutter import Cut, LineCutter

_MUCH = 1 << 22
"""Bytes from which on it is given in the midst of a stream."""
PART = 1 << 18
"""Bytes that are given at once then: a frame has to wait some milliseconds, but hardly ever one."""

_Chunk = tuple[Direction, int, bytes]
"""Where it goes, when it was read, and the bytes."""


class Backlog:
    """Chunks that wait for the engine.

    One thread may `overhear` while another does something else of it; all else is for one at a
    time.

    Args:
        cutters: the lines of each direction as far as they were given.
        foresees: the engine's word on lines that it will be given later; it looks at all of them.
        give: gives the engine a line.
    """

    def __init__(
        self,
        cutters: Mapping[Direction, LineCutter],
        foresees: Callable[[Direction, bytes, int], bool],
        give: Callable[[Direction, Cut, int], object],
    ) -> None:
        self._cutters = cutters
        self._foresees = foresees
        self._give = give
        self._overheard: deque[_Chunk] = deque()
        """What the engine has not even looked at."""
        self._waiting: deque[_Chunk] = deque()
        """What it has looked at, which are whole lines."""
        # Two counters, since to add to one is no single step: each has one writer at a time.
        self._passed_by = 0
        """Bytes that were ever overheard."""
        self._ahead = 0
        """Bytes that ever passed ahead, less those that were ever given."""

    @property
    def size(self) -> int:
        """Bytes that wait."""
        return self._passed_by + self._ahead

    @property
    def is_large(self) -> bool:
        """Whether a part of it is to be given now."""
        return self._passed_by + self._ahead > _MUCH

    def overhear(self, direction: Direction, chunk: bytes, t_ns: int) -> None:
        """Takes what passes by; from the one thread that listens, and quick."""
        self._passed_by += len(chunk)  # first, or it might be taken away before
        self._overheard.append((direction, t_ns, chunk))

    def passes_ahead(self, direction: Direction, chunk: bytes, t_ns: int) -> bool:
        """Whether a chunk can pass ahead, which makes it a part of what waits."""
        while self._overheard:
            self._look_at(self._overheard.popleft())
        if not self._is_clear(direction, chunk, t_ns):
            return False
        self._ahead += len(chunk)
        self._waiting.append((direction, t_ns, chunk))
        return True

    def catch_up(self, most: int | None = None) -> None:
        """Gives the engine what waits, the oldest first: all of it, or about so many bytes."""
        given = 0
        for chunks in (self._waiting, self._overheard):
            while chunks and (most is None or given < most):
                direction, t_ns, chunk = chunks.popleft()
                given += len(chunk)
                self._ahead -= len(chunk)
                for cut in self._cutters[direction].feed(chunk):
                    self._give(direction, cut, t_ns)

    def _look_at(self, passed: _Chunk) -> None:
        """Has the engine look at what has passed by, or take it if a look tells too little."""
        direction, t_ns, chunk = passed
        is_clear = self._is_clear(direction, chunk, t_ns)
        self._waiting.append(passed)
        if not is_clear:
            self.catch_up()

    def _is_clear(self, direction: Direction, chunk: bytes, t_ns: int) -> bool:
        """Whether nothing can happen to a chunk, which is known of whole lines alone."""
        is_whole = chunk.endswith(b"\n") and self._cutters[direction].is_empty
        return is_whole and self._foresees(direction, chunk, t_ns)
