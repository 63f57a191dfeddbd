"""What a person sees of a batch: a line for each recording that is not clean, and a summary."""

import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping

from acp_proxy.batches.results import JobVerdict, VerdictKind
from acp_proxy.cli.render.output import say, show_status, warn
from acp_proxy.cli.render.results_rows import reason
from acp_proxy.cli.render.styled_text import pad
from acp_proxy.safe_text import plain
from acp_proxy.wording import counted, duration

_WORDS = {
    VerdictKind.CLEAN: "clean",
    VerdictKind.DIFFERS: "differ",
    VerdictKind.BROKEN_RULES: "broke rules",
    VerdictKind.FINDINGS: "have findings",
    VerdictKind.FAILED: "failed",
    VerdictKind.INCOMPLETE: "incomplete",
    VerdictKind.STALLED: "stalled",
    VerdictKind.KILLED: "killed",
    VerdictKind.LOST: "lost",
    VerdictKind.CANNOT_START: "could not start",
    VerdictKind.UNREADABLE: "unreadable",
    VerdictKind.UNTESTED: "tested nothing",
    VerdictKind.REFUSED: "refused",
}
_OF_ONE = {"differ": "differs", "have findings": "has findings"}
_COLORS = {1: "yellow", 2: "red", 3: "red"}
_LONGEST = max(map(len, VerdictKind))
_REDRAW_S = 0.2
_BAR = 24
_PATIENCE_S = 1.0


class BatchScreen:
    """Prints the verdicts of one batch.

    Args:
        total: how many recordings it has.
        before: the verdicts that were found before, by kind.
        clock: seconds, from any origin.

    Attributes:
        total: the same.
        names: those of the recordings that are to come, in the order in which they are printed.
    """

    def __init__(
        self, total: int, before: Mapping[str, int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.total = total
        self._kinds = Counter(before)
        self._before = self._kinds.total()
        self._clock = clock
        self._start = self._drawn = clock()
        self._is_shown = False
        self.names = deque[str]()
        self._held: dict[str, JobVerdict] = {}
        """Verdicts that came before those of earlier names."""
        self._places: set[str] = set()

    def begin(self) -> None:
        """Shows on a terminal that there is something to do: the first verdict may take minutes."""
        if sys.stderr.isatty() and self._before < self.total:
            self._show_bar(self._before, self._start)

    def show(self, verdict: JobVerdict) -> None:
        """Prints a verdict, unless it is clean, and how far the batch is, on a terminal.

        It is printed when those of all earlier names are there.
        """
        self._kinds[verdict.kind] += 1
        if verdict.new_recording is not None:
            self._places.add(os.path.dirname(verdict.new_recording))  # noqa: PTH120
        was_shown = self._is_shown
        self._held[verdict.recording] = verdict
        while self.names and self.names[0] in self._held:
            self._print(self._held.pop(self.names.popleft()))
        if sys.stderr.isatty():
            self._draw(again=was_shown and not self._is_shown)

    def remark(self, text: str) -> None:
        """Prints a line about a recording on stderr, above the bar."""
        was_shown = self._is_shown
        self.clear()
        warn(text)
        if was_shown:
            self._show_bar(self._kinds.total(), self._clock())

    def clear(self) -> None:
        """Removes the bar."""
        if self._is_shown:
            show_status("")
            self._is_shown = False

    def end(self) -> None:
        """Prints what is held, and the summary."""
        for name in (name for name in self.names if name in self._held):
            self._print(self._held[name])
        self.clear()
        say(self.summary())

    def summary(self) -> str:
        """Returns how many recordings there are of each kind, and how long it took."""
        done = self._kinds.total()
        counts = ((self._kinds[kind], word) for kind, word in _WORDS.items())
        kinds = [f"{n:,} {_OF_ONE.get(word, word) if n == 1 else word}" for n, word in counts if n]
        if done < self.total:
            kinds.append(f"{self.total - done:,} not done")
        took = duration(int((self._clock() - self._start) * 1e9))
        before = f" ({self._before:,} done before)" if self._before else ""
        time = f"; {took}" if done > self._before else ""
        found = ", ".join(kinds) or "nothing to do"
        runs = f"; new runs in {', '.join(sorted(self._places))}" if self._places else ""
        return f"{counted(self.total, 'recording')}{before}: {found}{time}{plain(runs)}"

    def _print(self, verdict: JobVerdict) -> None:
        if verdict.kind is not VerdictKind.CLEAN:
            self.clear()
            say(line(verdict), fg=_COLORS.get(verdict.exit))

    def _draw(self, *, again: bool) -> None:
        now = self._clock()
        done = self._kinds.total()
        is_early = now - self._start < _PATIENCE_S or now - self._drawn < _REDRAW_S
        if done < self.total and (again or not is_early):
            self._show_bar(done, now)

    def _show_bar(self, done: int, now: float) -> None:
        fresh, left = done - self._before, self.total - done
        bad = done - self._kinds[VerdictKind.CLEAN]
        bar = "#" * (_BAR * done // max(1, self.total))
        is_bad = f", {bad:,} not clean" if bad else ""
        rest = duration(int((now - self._start) / fresh * left * 1e9)) if fresh else ""
        is_left = f", about {rest} left" if rest else ""
        # The figures first: a narrow terminal cuts the end.
        show_status(f"{done:,}/{self.total:,}{is_bad}{is_left}  [{bar:-<{_BAR}}]")
        self._drawn, self._is_shown = now, True


def line(verdict: JobVerdict) -> str:
    """Returns a verdict in one line."""
    texts = [reason(verdict)]
    if verdict.attempt > 1:
        texts.append(f"(attempt {verdict.attempt})")
    return f"{pad(verdict.kind, _LONGEST)}  {plain(verdict.recording)}  {'  '.join(texts)}".rstrip()
