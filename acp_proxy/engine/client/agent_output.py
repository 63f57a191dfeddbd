"""Counts what the agent writes, and decides when that is a flood."""

from acp_proxy.engine.client.stream_progress import Increment, TotalProgress
from acp_proxy.wording import counted

_FLOOD_LINES, _FLOOD_TIMES = 100_000, 10
"""How many lines may come without an answer, at least; and as a multiple of all recorded frames."""
_FLOOD_BYTES = 256 << 20
_FLOOD_REFUSALS = 1000
"""How many requests may be refused while nothing else comes."""


class AgentOutput:
    """Counts the agent's output, in all and since it last did what the recording needs.

    Attributes:
        lines: how many lines have come, blank ones not among them.
        total: how much was sent in all lanes.
        recent_bytes: how much has come since the agent last answered, or made a recorded request.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.total = TotalProgress()
        self.recent_bytes = 0
        self._recent_refusals = 0
        self._lines_before = 0

    def add_bytes(self, size: int) -> None:
        """Counts bytes, before it is known whether a line ends in them."""
        self.recent_bytes += size

    def add_line(self) -> None:
        """Counts a line."""
        self.lines += 1

    def add(self, increment: Increment) -> None:
        """Counts what a message adds."""
        self.total = self.total.plus(increment)

    def add_refusal(self) -> None:
        """Counts a request that is refused."""
        self._recent_refusals += 1

    def note_progress(self) -> None:
        """Notes that the agent answered, or made a recorded request."""
        self._lines_before = self.lines
        self.recent_bytes = self._recent_refusals = 0

    def is_flood(self, recorded: int) -> bool:
        """Whether so much has come without progress that none is to be expected.

        Args:
            recorded: how many frames the recorded agent sent.
        """
        return (
            self._recent_refusals >= _FLOOD_REFUSALS
            or self.recent_bytes > _FLOOD_BYTES
            or self._recent_lines > max(_FLOOD_LINES, _FLOOD_TIMES * recorded)
        )

    @property
    def flood_summary(self) -> str:
        """One sentence for the report."""
        return (
            f"the agent wrote {counted(self._recent_lines, 'line')} and {self.recent_bytes} bytes"
            f" without an answer to anything; {self._recent_refusals} of its requests were refused"
        )

    @property
    def _recent_lines(self) -> int:
        return self.lines - self._lines_before
