"""Shows on a terminal what a verification waits for, and for how long."""

from collections.abc import Callable
from math import inf

NS_PER_S = 10**9
_PATIENCE_S = 3
"""Seconds of silence before anything is shown."""

Show = Callable[[str], None]
"""Replaces the shown line; an empty text removes it."""


class WaitDisplay:
    """The line that is shown while nothing happens, renewed every second; none without `show`."""

    def __init__(self, show: Show | None) -> None:
        self._show = show
        self._shown_s = 0

    def next_at(self, quiet_since: int) -> float:
        """Returns when to call `update` next, in nanoseconds; infinity for never."""
        if self._show is None:
            return inf
        return quiet_since + max(_PATIENCE_S, self._shown_s + 1) * NS_PER_S

    def update(self, now: int, quiet_since: int, awaited: Callable[[], str]) -> None:
        """Shows what is waited for, or nothing if something has just happened.

        Args:
            now: the time, in nanoseconds.
            quiet_since: when something last happened, by the same clock.
            awaited: describes what is waited for; called only if it is shown.
        """
        quiet_s = (now - quiet_since) // NS_PER_S
        if quiet_s < _PATIENCE_S:
            self.clear()
        elif self._show is not None and quiet_s != self._shown_s:
            self._shown_s = quiet_s
            self._show(f"waiting {quiet_s} s for {awaited()}")

    def clear(self) -> None:
        """Removes the line, if one is shown."""
        if self._show is not None and self._shown_s:
            self._shown_s = 0
            self._show("")
