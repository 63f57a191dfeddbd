"""What a person sees of a batch: a line for each recording that is not clean, and a summary."""

import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence

from acp_proxy.batches.results import JobVerdict, VerdictKind
from acp_proxy.cli.render.output import say, show_status, warn
from acp_proxy.cli.render.results_reports import reason
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
    VerdictKind.LOST: "lost",
    VerdictKind.CANNOT_START: "could not start",
    VerdictKind.UNREADABLE: "unreadable",
    VerdictKind.UNTESTED: "tested nothing",
    VerdictKind.REFUSED: "refused",
}
_OF_ONE = {"differ": "differs", "have findings": "has findings"}
_COLORS = {1: "yellow", 2: "red", 3: "red"}
_LONGEST = max(map(len, VerdictKind))


class BatchScreen:
    """Prints the verdicts of one batch, in the order of its recordings.

    Args:
        names: those of the recordings that are to come, in that order.
        before: the kinds of the verdicts that were found before.
        clock: seconds, from any origin.
    """

    def __init__(
        self,
        names: Sequence[str],
        before: Iterable[VerdictKind],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._names = deque(names)
        self._kinds = Counter(before)
        self._before = self._kinds.total()
        self._total = self._before + len(names)
        self._clock = clock
        self._start = clock()
        self._held: dict[str, JobVerdict] = {}
        """Verdicts that came before those of earlier names."""
        self._places: set[str] = set()

    def show(self, verdict: JobVerdict) -> None:
        """Prints a verdict, unless it is clean, when those of all earlier names are there."""
        self._kinds[verdict.kind] += 1
        if verdict.new_recording is not None:
            self._places.add(os.path.dirname(verdict.new_recording))  # noqa: PTH120
        self._held[verdict.recording] = verdict
        self.clear()
        while self._names and self._names[0] in self._held:
            self._print(self._held.pop(self._names.popleft()))
        self.show_progress()

    def remark(self, text: str) -> None:
        """Prints a line about a recording on stderr."""
        self.clear()
        warn(text)

    def show_progress(self) -> None:
        """Shows on a terminal how far it is, also at first: a verdict may take minutes."""
        done = self._kinds.total()
        if not sys.stderr.isatty() or done == self._total:
            return
        bad = done - self._kinds[VerdictKind.CLEAN]
        text = f"{done:,}/{self._total:,}{f', {bad:,} not clean' if bad else ''}"
        if fresh := done - self._before:
            each_s = (self._clock() - self._start) / fresh
            text += f", about {duration(int(each_s * (self._total - done) * 1e9))} left"
        show_status(text)

    def clear(self) -> None:
        """Removes that again."""
        if sys.stderr.isatty():
            show_status("")

    def end(self) -> None:
        """Prints what is held, and the summary."""
        for name in (name for name in self._names if name in self._held):
            self._print(self._held[name])
        say(self.summary())

    def summary(self) -> str:
        """Returns how many recordings there are of each kind, and how long it took."""
        done = self._kinds.total()
        counts = ((self._kinds[kind], word) for kind, word in _WORDS.items())
        kinds = [f"{n:,} {_OF_ONE.get(word, word) if n == 1 else word}" for n, word in counts if n]
        if done < self._total:
            kinds.append(f"{self._total - done:,} not done")
        took = duration(int((self._clock() - self._start) * 1e9))
        before = f" ({self._before:,} done before)" if self._before else ""
        time = f"; {took}" if done > self._before else ""
        found = ", ".join(kinds) or "nothing to do"
        runs = f"; new runs in {', '.join(sorted(self._places))}" if self._places else ""
        return f"{counted(self._total, 'recording')}{before}: {found}{time}{plain(runs)}"

    def _print(self, verdict: JobVerdict) -> None:
        if verdict.kind is not VerdictKind.CLEAN:
            say(line(verdict), fg=_COLORS.get(verdict.exit))


def line(verdict: JobVerdict) -> str:
    """Returns a verdict in one line."""
    name = plain(verdict.recording)
    return f"{pad(verdict.kind, _LONGEST)}  {name}  {reason(verdict)}".rstrip()
