"""Prints a conversation while it runs, and asks the user for prompts and for consent."""

import json
import os
import re
import sys
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from acp_proxy.base.limits import WHOLE_LINE
from acp_proxy.base.plain_files import open_plain
from acp_proxy.base.text_diff import unified
from acp_proxy.cli.explain.transcript_screen import FENCE, GUTTER, TranscriptPage, rendered
from acp_proxy.cli.masking import is_unredacted, new_redactor
from acp_proxy.cli.screens.output import show_status, stdout_screen, warn
from acp_proxy.cli.screens.styled_text import Ink, Piece, Screen, piece
from acp_proxy.explain.describe.content_texts import command_of
from acp_proxy.explain.describe.tool_texts import given_to, places
from acp_proxy.explain.transcript.entries import EntryKind, TextLimits, TranscriptEntry
from acp_proxy.explain.transcript.live_entries import LiveEntries, SaidText
from acp_proxy.explain.waits import Party, answering_party, named_wait
from acp_proxy.playback.drivers.event_loop import now_ns
from acp_proxy.playback.drivers.verifier import WaitDisplay
from acp_proxy.playback.shared.playback_options import NS_PER_S
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.json_text import member, word
from acp_proxy.protocol.jsonrpc import Direction, Stream
from acp_proxy.protocol.tool_calls import NAMES, call_of, merge
from acp_proxy.redaction.edits import apply
from acp_proxy.try_.agent_requests import ConsentQuestion
from acp_proxy.try_.terminal_input import TerminalInput
from acp_proxy.try_.trial import TrialScreen

_COLUMNS = 100
"""The width of lines, in columns, if stdout is not a terminal."""


class LiveScreen(TrialScreen):
    """Prints the conversation on stdout. A line on stderr tells who is waited for.

    Args:
        prompts: the prompts to send; if empty, the user types prompts on the terminal.
    """

    def __init__(self, prompts: Sequence[str]) -> None:
        self._prompts = prompts
        self._entries = LiveEntries()
        screen = stdout_screen()
        screen = Screen(screen.columns or _COLUMNS, screen.color)
        self._page = TranscriptPage(screen, TextLimits(), str(Path.cwd()))
        self._said: EntryKind | None = None
        """The kind of the agent's text that is being printed; None between two texts."""
        self._line = ""
        """The incomplete last line of the text that is being printed."""
        self._is_code = False
        self._display = WaitDisplay(show_status if sys.stderr.isatty() else None)
        self._redactor = new_redactor()
        self._answered = 0
        """The number of requests that the user has answered and whose entries are not printed
        yet."""
        self._waiting: list[TranscriptEntry | SaidText] | None = None
        """Output that is printed after the user has answered a question; None while no question is
        asked."""
        self._input = TerminalInput()

    async def prompts(self) -> AsyncGenerator[str, None]:
        """Yields the prompts, one for each turn."""
        for prompt in self._prompts:
            yield prompt
        while not self._prompts:
            text = await self._input.line("prompt> ")
            if text is None:
                return
            if text.strip():
                yield text

    def watch(self, direction: Direction, raw: bytes) -> None:
        """Receives a line of the conversation. Prints the entries that are complete now.

        Args:
            direction: the direction of the line.
            raw: the line, without its newline.
        """
        if not is_unredacted():
            raw = apply(raw, self._redactor.changed(Stream(direction.value), raw))
        items = [*self._entries.take(direction, raw)]
        if self._waiting is not None:
            self._waiting += items
        elif items:
            self._show(items)

    def _show(self, items: Sequence[TranscriptEntry | SaidText]) -> None:
        """Prints entries and texts. While the user is asked, prints the input prompt again."""
        self._display.clear()
        for item in items:
            if isinstance(item, SaidText):
                self._say(item)
            elif item.kind is not EntryKind.PROMPT or self._prompts:
                self._end_text()
                self._page.entry(self._without_asked(item))
        self._page.flush()
        if self._input.prompt:
            self._end_text()
            self._page.flush()
            os.write(2, self._input.prompt.encode())

    def close(self) -> None:
        """Prints the incomplete last line of the latest text. Removes the status line."""
        self._display.clear()
        self._end_text()
        self._page.flush()

    def stderr(self, text: bytes) -> None:
        """Writes bytes of the agent's stderr to stderr; see `write_stderr`."""
        self._display.clear()
        write_stderr(text)

    def tick(self, quiet_since: int) -> None:
        """Shows who is waited for. While the user is asked, shows nothing.

        If the last line of a text has been incomplete for a second, the line is printed.

        Args:
            quiet_since: the time of the last bytes that were sent or received, in nanoseconds of
                trio's clock.
        """
        now = now_ns()
        if self._line and now - quiet_since > NS_PER_S:  # the line's rest may come late
            self._print(self._line)
            self._line = ""
            self._page.flush()
        if not self._input.prompt:
            self._display.update(now, quiet_since, self._awaited)

    async def ask(self, question: ConsentQuestion) -> int | None:
        """Shows a request of the agent, and asks the user for an answer.

        Args:
            question: the request, and the possible answers.

        Returns:
            The index of the chosen answer; None if the user chose none.
        """
        self._answered += 1
        self._waiting = []
        self._display.clear()
        self._end_text()
        self._page.line("")
        for line in self.described(question):
            self._page.wrap(*line)
        for number, option in enumerate(question.options, 1):
            self._page.wrap(piece(f"  {number}  "), piece(option))
        self._page.flush()
        self._input.forget()
        try:
            return await self._choice(len(question.options))
        finally:
            items, self._waiting = self._waiting, None
            self._show(items)

    async def _choice(self, options: int) -> int | None:
        while True:
            typed = await self._input.line(f"1 to {options}, or nothing to cancel> ")
            if typed is None or not typed.strip():
                return None
            if typed.strip() in map(str, range(1, options + 1)):
                return int(typed) - 1

    def described(self, question: ConsentQuestion) -> Iterator[list[Piece]]:
        """Returns the lines that show a request of the agent in full.

        Args:
            question: the request. Its params may be of any form.
        """
        params = member(question.message, "params")
        if question.method != PERMISSION:
            return _request(question.method, params)
        announced = self._entries.call(params.get("sessionId"), call_of(params).get("toolCallId"))
        return _permission(params, announced)

    def _awaited(self) -> str:
        asked = self._entries.open_request
        if asked is None:
            return "the agent"
        direction, method = asked
        party = answering_party(direction.value, method)
        return named_wait(party, method, self._entries.running if party is Party.AGENT else ())

    def _without_asked(self, entry: TranscriptEntry) -> TranscriptEntry:
        """Returns an entry without the texts that were already shown in a question to the user."""
        if not self._answered or entry.kind not in (EntryKind.PERMISSION, EntryKind.REQUEST):
            return entry
        self._answered -= 1
        return evolve(entry, choices=[], blocks=[])

    def _say(self, said: SaidText) -> None:
        """Prints the complete lines of a text, with a heading above its first line."""
        if said.kind is not self._said:
            self._end_text()
            self._page.entry(TranscriptEntry(said.kind, 0, 0, None, by="agent"))
            self._said = said.kind
        *lines, self._line = (self._line + said.text).split("\n")
        for line in lines:
            self._print(line)

    def _end_text(self) -> None:
        if self._line:
            self._print(self._line)
        self._said, self._line, self._is_code = None, "", False

    def _print(self, line: str) -> None:
        if not is_unredacted():  # a secret may be complete only now, if it came in pieces
            line = self._redactor.text(line)
        if FENCE.match(line):
            self._is_code = not self._is_code
        elif self._is_code:
            self._page.text(GUTTER, [piece(line, Ink.STDERR)])
        else:
            self._page.text(piece(""), [*rendered(line)])


def write_stderr(text: bytes) -> None:
    """Writes bytes of the agent's stderr to stderr. A line of the recorder becomes a warning.

    Args:
        text: any bytes. The recorder writes whole lines, which begin with ``acp-proxy:``.
    """
    if line := re.fullmatch(rb"acp-proxy: (.+)\n", text):
        warn(line[1].decode(errors="replace"))
    else:
        os.write(2, text)


def _request(method: str, params: dict[str, Any]) -> Iterator[list[Piece]]:
    """Yields lines that show a request to run a command or to write a file, in full."""
    if method == "terminal/create":
        yield _heading("The agent wants to run", command_of(params) or "")
        if cwd := word(params, "cwd"):
            yield [piece("  in "), piece(cwd)]
        env = params.get("env")
        for item in env if isinstance(env, list) else []:
            yield [piece("  with "), piece(f"{member(item, 'name')}={member(item, 'value')}")]
    else:
        path = word(params, "path")
        yield _heading("The agent wants to write", path)
        yield from _diff(_old_text(path), word(params, "content"))


def _permission(params: dict[str, Any], announced: dict[str, Any]) -> Iterator[list[Piece]]:
    """Yields lines that show a permission request, with all that is known about its tool call."""
    call = {**announced}
    merge(call, call_of(params))
    title = word(call, *NAMES) or word(params, "title", "operation") or word(call, "toolCallId")
    yield _heading("The agent asks for permission", title)
    shown = [title]
    for name in ("description", "reason", "resource"):
        if text := word(params, name):
            shown.append(text)
            yield [piece("  "), piece(text)]
    content = call.get("content")
    for item in content if isinstance(content, list) else []:
        texts = (member(item, "content", "text"), member(item, "path"), member(item, "newText"))
        shown += [text for text in texts if isinstance(text, str)]
        yield from _content(item)
    given = given_to(call)
    for name, value in given.items() if isinstance(given, dict) else [("input", given)]:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if value is not None and not any(text in known for known in shown):
            shown.append(text)
            for number, line in enumerate(text.split("\n")):
                yield [piece("    " if number else f"  {name}: "), piece(line)]
    if where := places(call, " ".join(shown)):
        yield [piece("  at "), piece(where)]


def _heading(words: str, subject: str) -> list[Piece]:
    return [piece(""), piece(f"{words}: ", Ink.PERMISSION, bold=True), piece(subject)]


def _content(item: Any) -> Iterator[list[Piece]]:
    if member(item, "type") == "diff":
        yield [piece("  "), piece(word(item, "path"), bold=True)]
        yield from _diff(word(item, "oldText"), word(item, "newText"))
    elif isinstance(text := member(item, "content", "text"), str):
        for line in text.split("\n"):
            yield [piece("  "), piece(line)]


def _diff(old: str, new: str) -> Iterator[list[Piece]]:
    inks = {"-": Ink.TROUBLE, "+": Ink.TO_CLIENT, "@": Ink.FAINT}
    for line in unified(old, new):
        yield [piece("  "), piece(line, inks.get(line[:1]))]


def _old_text(path: str) -> str:
    try:
        with open_plain(Path(path)) as file:
            return file.read(WHOLE_LINE).decode(errors="replace")
    except (OSError, ValueError):
        return ""
