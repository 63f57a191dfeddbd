r"""Tests `verify` with transcripts: what was recorded, and what a live agent sends.

    recorded = record('''
        1-2 handshake
    ''')
    verify(recorded).check('''
        -> 1
        <- #0 result {"protocolVersion": 1}
        -> end
    ''')

The recording has the syntax of `tests.support.playbook`. In the second transcript, ``<- 2`` is the
live agent sending frame 2 as recorded; below it stand the messages that the client sends then:
``-> 3`` is frame 3 byte for byte, ``refusal #2`` the error that tells the agent of a divergence,
``end`` the end of the agent's input, any other text a message. ``<- end`` closes the agent's
output. During ``.. 2s`` the engine is woken only if it has asked for this.
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
    """Begins a verification of a recorded transcript."""
    return LiveAgent(
        Verification(RecordedClient(recorded.script(as_sent=True)), VerifyOptions(**options)),
        recorded,
    )


class LiveAgent(Played):
    """A verification that runs; the test is the agent."""

    engine: Verification
    arrow = "->"

    def play(self, *written: str) -> list[str]:
        """Sends lines of a transcript; returns the messages that `verify` sends then."""
        return [line for line in self._play([*written]) if line not in written]

    def part(self, size: int) -> None:
        """Reports to `verify` that part of an unfinished line has arrived."""
        self._obey(self.engine.feed(PartReceived(size, self.now)))

    @property
    def report(self) -> PlayReport:
        """Returns the report of the verification."""
        return report(self.engine)
