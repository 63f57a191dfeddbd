"""Measures how long a replay has made no progress."""

SETTLE_NS = 10**9
"""How long mere reordering has to resolve itself before a message counts as missing."""


class Progress:
    """Knows when the last message came and when the last frame went out.

    Args:
        stall_ns: nanoseconds without progress that count as a stall; None for never.
    """

    def __init__(self, stall_ns: int | None) -> None:
        self._stall_ns = stall_ns
        self._input_at: int | None = None
        self._moved_at = 0

    def begin(self, at: int) -> None:
        """Counts silence from now on, unless it is counted already."""
        if self._input_at is None:
            self.note_input(at)

    def note_input(self, at: int) -> None:
        """Notes that a message came, or that messages can come from now on."""
        self._input_at = self._moved_at = at

    def note_output(self, at: int) -> None:
        """Notes that a frame went out."""
        self._moved_at = at

    @property
    def settles_at(self) -> int:
        """When nothing has come for so long that it was not mere reordering."""
        return (self._input_at or 0) + SETTLE_NS

    @property
    def stalls_at(self) -> int | None:
        """When the replay stalls if it makes no progress until then; None for never."""
        return None if self._stall_ns is None else self._moved_at + self._stall_ns
