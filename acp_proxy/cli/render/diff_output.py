"""Tells a comparison, to whoever wants to know: a person, a program, a test runner.

Entries are read from the recordings once, however many are told.
"""

from collections.abc import Sequence

from acp_proxy.difference.options import Expect
from acp_proxy.difference.result import Counts, Diff, DiffEntry
from acp_proxy.wording import counted

_WHERE = {Expect.FRAMES: "", Expect.STRUCTURE: " in structure", Expect.OUTCOME: " in outcome"}


class Reporter:
    """Is told a comparison, and tells it on; a noop to begin with."""

    def begin(self, _found: Diff) -> None:
        """Hears all but the entries."""

    def entry(self, _entry: DiffEntry) -> None:
        """Hears of an entry; those of one lane come one after the other."""

    def end(self, _found: Diff) -> None:
        """Hears that there are no more."""


def tell(found: Diff, tellers: Sequence[Reporter]) -> None:
    """Tells a comparison.

    Raises:
        UnreadableRecording: a recording is damaged.
    """
    for teller in tellers:
        teller.begin(found)
    for entry in found.entries():
        for teller in tellers:
            teller.entry(entry)
    for teller in tellers:
        teller.end(found)


def verdict(found: Diff) -> str:
    """All of it in one line."""
    if not found.is_equal:
        return differences(found.counts)
    frames = f"{counted(found.a.frames, 'frame')} and {counted(found.b.frames, 'frame')}"
    return f"equal{_WHERE[found.expect]}: {frames} say the same"


def differences(counts: Counts) -> str:
    """How many differences there are, and of which kinds."""
    kinds = {
        "changed": counts.changed,
        "only in A": counts.only_a,
        "only in B": counts.only_b,
        "moved": counts.moved,
        "in the handshake": counts.handshake,
        "in the ending": counts.ending,
    }
    told = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items() if number)
    return f"{counted(counts.total, 'difference')}: {told}"
