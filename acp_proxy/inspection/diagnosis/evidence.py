"""All that problems are told from, and the words that several of them share."""

from collections.abc import Iterable

from attrs import define

from acp_proxy.inspection.describe.methods import METHODS
from acp_proxy.inspection.describe.values import counted
from acp_proxy.inspection.diagnosis.course import Course, Happened
from acp_proxy.inspection.diagnosis.facts import ErrorTally, NotAcp, OpenRequest, TurnSummary
from acp_proxy.inspection.diagnosis.lines import HEAD, Line, read_lines
from acp_proxy.inspection.diagnosis.questions import gist
from acp_proxy.inspection.diagnosis.tool_calls import running_calls
from acp_proxy.inspection.diagnosis.waits import Wait
from acp_proxy.inspection.preview import preview
from acp_proxy.inspection.safe_text import plain
from acp_proxy.recording import Recording
from acp_proxy.store.reader import RecordingReader

READERS = {"to-agent": "the agent", "to-client": "the client", "stderr": "who reads its stderr"}
"""Who is to read a stream, by its name."""


@define
class Evidence:
    """All that problems are told from."""

    reader: RecordingReader
    recording: Recording
    live: bool
    course: Course
    events: list[Happened]
    turns: list[TurnSummary]
    unanswered: list[OpenRequest]
    errors: list[ErrorTally]
    not_acp: list[NotAcp]
    waits: list[Wait]
    """What is open now, if it is running."""
    end_ns: int

    def of_kind(self, *kinds: str) -> list[Happened]:
        """The events of some kinds, in order."""
        return [event for event in self.events if event.kind in kinds]


def request_text(method: str | None, seq: int, line: Line | None) -> str:
    """A request by its method, what it is about, and its number."""
    if line is not None and line.method != method:
        line = None  # another request of the same batch
    about = gist(line) if line is not None else ""
    if not about and line is not None and method not in METHODS:
        about = preview(line.raw, line.kind, method)[:60]
    named = f' "{about}"' if about else ""
    return f"{plain(method or '?')[:80]}{named} (#{seq})"


def requests(evidence: Evidence, seqs: Iterable[int]) -> dict[int, Line]:
    """The lines of some requests, by their numbers; of several in one batch the first."""
    found: dict[int, Line] = {}
    for line in read_lines(evidence.reader, seqs, HEAD):
        if line.kind == "request":
            found.setdefault(line.seq, line)
    return found


def under_way(evidence: Evidence, turn: int | None, first: int, last: int | None) -> dict[int, str]:
    """The tool calls of a turn that were not over at its frame ``last``, by their first frames."""
    if turn is None or last is None:
        return {}
    return running_calls(evidence.reader, turn, first, last)


def named_calls(running: dict[int, str]) -> str:
    """Names tool calls, the first three of them."""
    names = [f'tool call "{title}" (#{seq})' for seq, title in list(running.items())[:3]]
    more = len(running) - len(names)
    return " and ".join([*names, counted(more, "other")] if more else names)
