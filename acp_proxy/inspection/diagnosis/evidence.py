"""All that problems are told from, and the words that several of them share."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from attrs import define

from acp_proxy.inspection.describe.methods import METHODS
from acp_proxy.inspection.describe.values import counted
from acp_proxy.inspection.diagnosis.course import Course, Happened, is_client_leaving, is_end
from acp_proxy.inspection.diagnosis.details import (
    read_halves,
    read_not_acp,
    read_turns,
    read_unanswered,
)
from acp_proxy.inspection.diagnosis.errors import read_errors
from acp_proxy.inspection.diagnosis.facts import ErrorTally, NotAcp, OpenRequest, TurnSummary
from acp_proxy.inspection.diagnosis.injected import Injected
from acp_proxy.inspection.diagnosis.legality import Rules
from acp_proxy.inspection.diagnosis.lines import HEAD, Line, read_lines
from acp_proxy.inspection.diagnosis.questions import gist
from acp_proxy.inspection.diagnosis.tool_calls import running_calls
from acp_proxy.inspection.diagnosis.waits import Wait
from acp_proxy.inspection.preview import preview
from acp_proxy.recording import Recording
from acp_proxy.safe_text import plain
from acp_proxy.store.reader import RecordingReader

_END = 1 << 62

READERS = {"to-agent": "the agent", "to-client": "the client", "stderr": "who reads its stderr"}
"""Who is to read a stream, by its name."""


@define
class Evidence:
    """All that problems are told from; what costs something is read when it is first asked for."""

    reader: RecordingReader
    events: list[Happened]
    course: Course | None
    """What a pass over all frames has found; None if nobody asked for one. Without it no silence
    is known, but every problem is."""
    waits: list[Wait]
    """What is open now, if it is running."""
    end_ns: int

    @cached_property
    def recording(self) -> Recording:
        """What was recorded."""
        return self.reader.recording

    @property
    def live(self) -> bool:
        """Whether the recorder is running."""
        return self.reader.live

    @cached_property
    def turns(self) -> list[TurnSummary]:
        """All turns."""
        return read_turns(self.reader)

    @cached_property
    def unanswered(self) -> list[OpenRequest]:
        """The first requests without an answer."""
        return read_unanswered(self.reader, self.end_ns)

    @cached_property
    def errors(self) -> list[ErrorTally]:
        """The errors by method, code and blame."""
        dialect = self.recording.dialect
        made = self.injected.made
        return read_errors(self.reader, dialect, lambda: Rules(dialect, self.halves), made)

    @cached_property
    def halves(self) -> dict[str, dict[str, Any]]:
        """What the peers said in the initialization, by who receives what goes in a direction."""
        return read_halves(self.reader)

    @cached_property
    def not_acp(self) -> list[NotAcp]:
        """The lines that are no messages, by direction."""
        return read_not_acp(self.reader, self.injected.made)

    @cached_property
    def injected(self) -> Injected:
        """What faults did."""
        return Injected(self.reader, self.events)

    @cached_property
    def first_end(self) -> Happened | None:
        """The first event with which one of the peers left."""
        return next(filter(is_end, self.events), None)

    @property
    def client_left(self) -> Happened | None:
        """How the client left or stopped the agent, if it did that before the agent left."""
        first = self.first_end
        return first if first is not None and is_client_leaving(first) else None

    @property
    def open_at_end(self) -> list[Wait]:
        """What was open when the first peer left, as far as a pass has told."""
        return (self.course.open_at_end or []) if self.course is not None else []

    @cached_property
    def cut_turns(self) -> list[TurnSummary]:
        """The turns in the middle of which the agent left by itself, or the recorder died."""
        if self.live or self.client_left is not None:
            return []
        if self.first_end is None and self.recording.state == "complete":
            return []
        open_ = (turn for turn in self.turns if turn.end_seq is None)
        return [turn for turn in open_ if self.prompt_after(turn) is None]

    def prompt_after(self, turn: TurnSummary) -> TurnSummary | None:
        """The next turn of the same session, if there is one."""
        later = (t for t in self.turns if t.id > turn.id and t.session == turn.session)
        return next(later, None)

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


def under_way(
    evidence: Evidence, turn: int | None, first: int, last: int | None = _END
) -> dict[int, str]:
    """The tool calls of a turn that were not over at its frame ``last``, by their first frames."""
    if turn is None or last is None:
        return {}
    return running_calls(evidence.reader, turn, first, last)


def named_calls(running: dict[int, str]) -> str:
    """Names tool calls, the first three of them."""
    names = [f'tool call "{title}" (#{seq})' for seq, title in list(running.items())[:3]]
    more = len(running) - len(names)
    return " and ".join([*names, counted(more, "other")] if more else names)
