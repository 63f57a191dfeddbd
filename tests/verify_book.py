r"""Verifications written as transcripts: what was recorded, and what a live agent says.

    book = record('''
        1 -> #0 initialize {"protocolVersion": 1}
        2 <- #0 result {"protocolVersion": 1}
    ''')
    verify(book).check('''
        -> 1
        <- #0 result {"protocolVersion": 1}
        -> end
    ''')

A recording is written as in `tests.playbook`. Played, ``<- 2`` is the agent saying frame 2 as it
was recorded, and below it stands all that the client says then: ``-> 3`` is frame 3 byte for byte,
``refusal #2`` the error that tells the agent of a divergence, ``end`` the end of its input,
anything else the message itself. ``<- end`` is the agent leaving. In ``.. 2s`` the engine is woken
when it asked to be, and not otherwise.
"""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING

from acp_proxy.commands import Finish, Send, WakeAt
from acp_proxy.engine.client.plot import Plot
from acp_proxy.engine.client.report import PlayReport, report
from acp_proxy.engine.client.stage import Options
from acp_proxy.engine.client.verification import Verification
from acp_proxy.engine.divergence import ERROR_CODE, Divergence, Rank
from acp_proxy.events import EndOfInput, Event, LineReceived, Wakeup
from tests.playbook import START_NS, Book, duration, lines, wire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_LIVE = re.compile(r"(?P<arrow>->|<-|\.\.) (?P<what>.+)")


def verify(book: Book, **options: Any) -> LiveAgent:
    """Begins a verification."""
    return LiveAgent(Verification(Plot(book.script()), Options(**options)), book)


class LiveAgent:
    """A verification that is under way; the test is the agent.

    Attributes:
        engine: what is played.
        now: the time.
        sent: what the client said, each with its moment in milliseconds since the beginning.
    """

    def __init__(self, engine: Verification, book: Book) -> None:
        self.engine = engine
        self.now = START_NS
        self.sent: list[tuple[str, float]] = []
        self._unread: list[str] = []
        self._book = book
        self._wake_at: int | None = None
        self._feed(Wakeup(self.now))

    def check(self, transcript: str) -> LiveAgent:
        """Plays a transcript and compares what the client says with what is written there."""
        written = [_normal(line) for line in lines(transcript)]
        assert list(self._play(written)) == written
        return self

    def play(self, *written: str) -> list[str]:
        """Plays lines of a transcript; returns what the client says."""
        return [line for line in self._play([*written]) if line not in written]

    @property
    def found(self) -> list[str]:
        """The departures that count: kind, rank, lane and frame."""
        return [self._told(one) for one in self.departures if one.rank is not Rank.INFO]

    @property
    def informed(self) -> list[str]:
        """What is told for information: kind, lane and frame."""
        return [self._told(one) for one in self.departures if one.rank is Rank.INFO]

    @property
    def departures(self) -> list[Divergence]:
        """All departures."""
        return self.engine.stage.judge.found

    @property
    def report(self) -> PlayReport:
        """The report of it."""
        return report(self.engine)

    def _play(self, written: list[str]) -> Iterator[str]:
        yield from self._news()
        for line in written:
            match = _LIVE.fullmatch(line)
            if match is None:
                raise ValueError(f"expected a line such as '<- 3' or '-> 4', got {line!r}")
            if match["arrow"] != "->":
                yield line
                self._do(match["arrow"], match["what"])
                yield from self._news()

    def _do(self, arrow: str, what: str) -> None:
        if arrow == "..":
            self._pass(self.now + duration(what))
        elif what == "end":
            self._feed(EndOfInput(self.now))
        else:
            line = self._book.raw[int(what)] if what.isdigit() else wire(what)
            self._feed(LineReceived(line.removesuffix(b"\n"), self.now))

    def _pass(self, until: int) -> None:
        while self._wake_at is not None and self._wake_at <= until:
            self.now = max(self.now, self._wake_at)
            self._feed(Wakeup(self.now))
        self.now = until

    def _feed(self, event: Event) -> None:
        for command in self.engine.feed(event):
            match command:
                case Send():
                    self._note(self._described(command))
                case WakeAt(at):
                    assert at is None or at > self.now, "expected a moment that is still to come"
                    self._wake_at = at
                case Finish():
                    self._wake_at = None
                    self._note("end")

    def _note(self, what: str) -> None:
        self.sent.append((what, (self.now - START_NS) / 10**6))
        self._unread.append(f"-> {what}")

    def _news(self) -> Iterator[str]:
        news, self._unread = self._unread, []
        yield from news

    def _described(self, command: Send) -> str:
        number = self._book.numbers.get(command.seq or 0)
        if number is not None and command.data == self._book.raw[number]:
            return str(number)
        with contextlib.suppress(ValueError):
            message = json.loads(command.data)
            error = message.get("error", {}) if isinstance(message, dict) else {}
            if error.get("code") == ERROR_CODE:
                return f"refusal #{json.dumps(message['id'])}"
        return command.data.decode("utf-8", "backslashreplace").rstrip("\n")

    def _told(self, one: Divergence) -> str:
        number = "" if one.seq is None else f" {self._book.numbers[one.seq]}"
        rank = f" {one.rank}" if one.rank is not Rank.INFO else ""
        return f"{one.kind}{rank} in {one.lane}{number}"


def _normal(line: str) -> str:
    """A line as it is played: a message of the client's stands there as on the wire."""
    arrow, _, what = line.partition(" ")
    if arrow != "->" or what == "end" or what.isdigit() or what.startswith("refusal "):
        return line
    return f"-> {wire(what).decode('utf-8', 'backslashreplace').rstrip(chr(10))}"
