r"""Verifications written as transcripts: what was recorded, and what a live agent sends.

    recorded = record('''
        1-2 handshake
    ''')
    verify(recorded).check('''
        -> 1
        <- #0 result {"protocolVersion": 1}
        -> end
    ''')

A recording is written as in `tests.support.playbook`. Played, ``<- 2`` is the agent saying frame 2
as it was recorded, and below it stands all that the client sends then: ``-> 3`` is frame 3 byte for
byte, ``refusal #2`` the error that tells the agent of a divergence, ``end`` the end of its input,
anything else the message itself. ``<- end`` is the agent leaving. In ``.. 2s`` the engine is woken
when it asked to be, and not otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_proxy.playback.events import PartReceived
from acp_proxy.playback.verify.recorded_client import RecordedClient
from acp_proxy.playback.verify.verification import Verification
from acp_proxy.playback.verify.verify_report import PlayReport, report
from acp_proxy.playback.verify.verify_requests import VerifyOptions
from tests.support.playbook import Played, RecordedTranscript

if TYPE_CHECKING:
    from typing import Any


def verify(recorded: RecordedTranscript, **options: Any) -> LiveAgent:
    """Begins a verification."""
    return LiveAgent(
        Verification(RecordedClient(recorded.script(as_sent=True)), VerifyOptions(**options)),
        recorded,
    )


class LiveAgent(Played):
    """A verification that is under way; the test is the agent."""

    engine: Verification
    arrow = "->"

    def play(self, *written: str) -> list[str]:
        """Plays lines of a transcript; returns what the client sends."""
        return [line for line in self._play([*written]) if line not in written]

    def part(self, size: int) -> None:
        """Sends part of a line that does not end."""
        self._obey(self.engine.feed(PartReceived(size, self.now)))

    @property
    def report(self) -> PlayReport:
        """The report of it."""
        return report(self.engine)
