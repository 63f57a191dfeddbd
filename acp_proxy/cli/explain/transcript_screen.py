"""Prints a transcript on a terminal: coloured headings, and text that is wrapped between words.

The entries are the same as in Markdown, in the same order. The permission requests, terminals and
files of a tool call are indented below the call. The entries of a subagent are indented, too. Long
output is cut, except with ``--full``.
"""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from acp_proxy.base.limits import LAST_NUMBER
from acp_proxy.base.wording import duration, seconds
from acp_proxy.cli.explain.transcript_markdown import NAMES, choice_state, number_of, sender_of
from acp_proxy.cli.screens.output import stdout_screen
from acp_proxy.cli.screens.recording_page import RecordingPage
from acp_proxy.cli.screens.styled_text import Ink, Piece, Screen, columns_of, piece, text_of, wrap
from acp_proxy.explain.pauses import Pauses
from acp_proxy.explain.transcript.entries import EntryKind, TextBlock, TextForm, TextLimits
from acp_proxy.explain.transcript.entries import TranscriptEntry as Entry
from acp_proxy.explain.transcript.entries import TranscriptSection as Section
from acp_proxy.protocol.updates import RUNNING
from acp_proxy.recording.filters import Filter, all_of, parse
from acp_proxy.store.reader import RecordingReader

Item = Section | Entry
_INKS = {
    EntryKind.PROMPT: Ink.TO_AGENT, EntryKind.THOUGHT: Ink.FAINT, EntryKind.STDERR: Ink.STDERR,
    EntryKind.PERMISSION: Ink.PERMISSION, EntryKind.NOT_ACP: Ink.TROUBLE,
    EntryKind.NOTE: Ink.PERMISSION,
}  # fmt: skip
_SENDERS = {"client": Ink.TO_AGENT, "agent": Ink.TO_CLIENT}
_DIFF_INKS = {"-": Ink.TROUBLE, "+": Ink.TO_CLIENT, "@": Ink.FAINT}
_MOST_LINES = 12
"""How many lines of output are printed without ``--full``."""
_READABLE = 120
"""The largest width of lines of text, in columns."""
_LEAST_HEAD = 30
"""The smallest width of a heading in columns, without the numbers of its frames."""
_MARKED = re.compile(r"(\*\*(?!\s)[^*]+(?<!\s)\*\*|`[^`]+`)")
_HEADING = re.compile(r"#{1,6} +")
_BULLET = re.compile(r"( *)[-*+] +")
FENCE = re.compile(r" *(?:```|~~~)")
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
"""Matches a colour, or another control sequence for a terminal, in output."""
_TERMINAL = re.compile(r"terminal [^ ]+")
"""Matches the note in a tool call that names a terminal."""
GUTTER = piece("│ ", Ink.FAINT)


def show_transcript(
    reader: RecordingReader, items: Iterable[Item], limits: TextLimits, chosen: Filter
) -> None:
    """Prints a transcript on the terminal, with the findings and the marked pauses.

    Args:
        reader: the recording.
        items: the sections and entries; each section comes before its entries.
        limits: how much of each text is printed.
        chosen: the filter of frames. Findings and pauses at other frames are left out.
    """
    from acp_proxy.check.judgement import summarize_whole  # late: Markdown and `try` need neither
    from acp_proxy.cli.explain.show_screen import sentence_of, summary_verdict

    recording, summary = reader.recording, summarize_whole(reader, time.monotonic_ns())
    page = TranscriptPage(stdout_screen(), limits, recording.cwd, recording.step_ns)
    peers = " → ".join(filter(None, (recording.client_title, recording.agent_title)))
    page.headline(recording, *summary_verdict(summary), live=reader.live)
    page.wrap(piece(""), piece(peers, Ink.FAINT))
    lines = [(f.seq, partial(page.finding, f.severity, sentence_of([f]), f"  [{f.rule} {f.whose}]"))
             for f in summary.findings]  # fmt: skip
    for pause in Pauses(reader).every():
        ink = Ink.TROUBLE if pause.never_ended else Ink.STDERR
        words = piece(f"··· {pause.text(recording.step_ns)} ···", ink)
        lines.append((pause.before, partial(page.wrap, piece("  "), words)))
    notes = [(seq, row.get("turn"), line) for seq, line in sorted(lines, key=lambda note: note[0])
             for row in reader.rows(all_of([chosen, parse(f"seq:{max(1, seq)}")]))]  # fmt: skip
    turn: int | None = None

    def show(before: int, *at: int) -> None:
        for note in [n for n in notes if n[0] in at or (n[0] < before and n[1] == turn)]:
            note[2]()
            notes.remove(note)

    for item in _in_order(items):
        show(item.seq if isinstance(item, Entry) else LAST_NUMBER if turn else 0)
        if isinstance(item, Section):
            turn = item.turn
            page.section(item)
        else:
            page.entry(item)
            show(0, item.seq, item.last_seq)
    page.end()
    show(0, *(note[0] for note in notes))
    page.flush()


def _in_order(items: Iterable[Item]) -> Iterator[Item]:
    """Yields the items in order. If a tool call directly follows its terminal, swaps the two."""
    pending: list[Item] = []
    for item in items:
        if pending and not _is_part(pending[0], item):
            yield pending.pop()
        if isinstance(item, Entry) and item.kind is EntryKind.TERMINAL:
            pending.append(item)
        else:
            yield item
            yield from pending
            pending.clear()
    yield from pending


def _is_part(entry: Item, call: object) -> bool:
    """Whether an entry is a permission request for a tool call, or a terminal of the call."""
    if isinstance(entry, Section) or not isinstance(call, Entry):
        return False
    if call.kind is not EntryKind.TOOL_CALL or entry.session != call.session:
        return False
    if entry.kind is EntryKind.TERMINAL:
        return any(block.text.start == f"terminal {entry.id}" for block in call.blocks)
    return entry.kind is EntryKind.PERMISSION and entry.id == call.id != ""


class TranscriptPage(RecordingPage):
    """A page of sections and entries.

    Args:
        screen: the width and the colours.
        limits: how much of each text is printed.
        directory: the directory that is left out at the beginning of paths, except with ``--full``.
        step_ns: the resolution of times in nanoseconds; see `duration`.
    """

    def __init__(
        self, screen: Screen, limits: TextLimits, directory: str, step_ns: int = 0
    ) -> None:
        super().__init__(screen)
        self._limits, self._step_ns = limits, step_ns
        self._directory = "" if limits.is_full or not directory else f"{directory}/"
        self._columns = min(screen.columns or _READABLE, _READABLE)
        self._narrow = Screen(self._columns, screen.color)
        self._section: Section | None = None
        self._lost: Sequence[str] = ()
        """The statuses of a tool call that never ended; empty if calls may still end."""
        self._margin = ""
        self._call: Entry | None = None
        """The latest tool call, as long as all entries after the call belong to it; otherwise
        None."""
        self._calls_until = 0
        """The number of the last frame of the earlier tool calls in the section."""
        self._terminals: set[tuple[str | None, str]] = set()

    def section(self, section: Section) -> None:
        """Prints a horizontal line with the title of a section.

        Args:
            section: the section.
        """
        self.end_call()
        history = f"history, loaded by #{section.loaded_by}" if section.loaded_by else ""
        words = [history or ("outside of turns" if self._section else "before the first turn")]
        self._section = section
        self._calls_until = 0
        self._lost = RUNNING if section.is_failed and section.last_seq is None else ()
        if section.turn is not None:
            took = duration(section.took_ns, self._step_ns)
            last = "" if section.last_seq is None else f"–{section.last_seq}"
            words = [f"turn {section.turn}", section.state, took, f"#{section.seq}{last}"]
        ink = Ink.TROUBLE if section.is_failed else None
        head, *_ = piece(f"── {' · '.join(filter(None, [*words, section.session]))} ")
        rule = "─" * (self._columns - columns_of(head))
        self.lines(["", self._narrow.line((head + rule, ink, True))])

    def entry(self, entry: Entry) -> None:
        """Prints an entry. It is indented if it belongs to the tool call above, or to a subagent.

        Args:
            entry: the entry.
        """
        is_end = entry.kind is EntryKind.END and not (self._limits.is_full or entry.remarks)
        if is_end and self._section and entry.title == self._section.state:
            return  # the title of the turn says the same
        call, known = self._call, []
        is_within = call is not None and self._is_within(entry, call)
        if call is not None and is_within:
            known = [] if self._limits.is_full else call.blocks
        else:
            self.end_call()
            self.line("")
        self._margin = "  " * (is_within + _is_of_subagent(entry))
        self._head(entry)
        if entry.kind is EntryKind.TOOL_CALL:
            self._call = entry
        elif entry.kind is EntryKind.TERMINAL:
            self._terminals.add((entry.session, f"terminal {entry.id}"))
        self._choices(entry)
        self._blocks(entry, [block for block in entry.blocks if block not in known])

    def _is_within(self, entry: Entry, call: Entry) -> bool:
        """Whether an entry belongs to a tool call.

        An entry belongs to a call if it is a part of the call, or if it is a request that the agent
        sent while only this call ran.
        """
        is_asked = entry.kind is EntryKind.REQUEST and entry.session == call.session
        is_during = self._calls_until < entry.seq < _end_of(call) and entry.by == "agent"
        return _is_part(entry, call) or (is_asked and is_during)

    def end(self) -> None:
        """Prints the end of the latest tool call. Prints "Nothing." if there was no section."""
        self.end_call()
        if self._section is None:
            self.lines(["", "Nothing."])

    def end_call(self) -> None:
        """Prints the end of the latest tool call: the terminals that have no entry of their own."""
        call, self._call = self._call, None
        if call is None:
            return
        self._calls_until = max(self._calls_until, _end_of(call))
        self._margin = "  " * _is_of_subagent(call)
        for block in call.blocks:
            if self._is_hidden(block) and (call.session, block.text.start) not in self._terminals:
                self.text(GUTTER, [piece(block.text.start, Ink.FAINT)])

    def _is_hidden(self, block: TextBlock) -> bool:
        is_note = block.form is TextForm.NOTE and not self._limits.is_full
        return is_note and _TERMINAL.fullmatch(block.text.start) is not None

    def _head(self, entry: Entry) -> None:
        """Prints the heading of an entry: who did what, the outcome, the entry's frames."""
        at = f", {seconds(entry.t_ns)} s" if entry.t_ns else ""
        # In a running conversation, an entry has no number yet.
        place = piece(f"  {number_of(entry)}{at}" if entry.seq else "", Ink.FAINT)
        lead, indent = piece(self._margin), piece(f"{self._margin}    ")
        words = [*self._words(entry)]
        room = self._columns - columns_of(place[0])
        if room < _LEAST_HEAD:
            words, place, room = [*words, place], piece(""), self._columns
        for line in wrap(words, room - columns_of(indent[0])):
            space = " " * (room - columns_of(text_of([lead, *line])))
            self.line(self._narrow.line(lead, *line, piece(space), place))
            lead, place = indent, piece("")

    def _words(self, entry: Entry) -> Iterator[Piece]:
        """Yields the heading of an entry in words: who did what, and the outcome."""
        name = NAMES.get(entry.kind) or sender_of(entry) or "Peer"
        yield piece("✗ " if entry.is_failed else "", Ink.TROUBLE, bold=True)
        yield piece(name, _INKS.get(entry.kind) or _SENDERS.get(entry.by), bold=True)
        names = [entry.title, entry.detail]
        if entry.kind in (EntryKind.REQUEST, EntryKind.NOTICE, EntryKind.EVENT):
            names.reverse()  # the method is before the subject
        for number, text in enumerate([*names, *entry.remarks]):
            shown = text.removeprefix(self._directory)
            yield piece(f"  {shown}" if shown else "", Ink.FAINT if number else None)
        took, is_lost = duration(entry.took_ns, self._step_ns), entry.state in self._lost
        state = entry.state + (", never ended" if is_lost else f" after {took}" if took else "")
        if entry.state:
            yield piece(f"  → {state}", Ink.TROUBLE if entry.is_failed or is_lost else None)

    def _choices(self, entry: Entry) -> None:
        """Prints the steps of a plan in lines, and the options of a request in one line."""
        options: list[Piece] = []
        is_asked = entry.kind is EntryKind.PERMISSION
        for choice in entry.choices:
            box, state = choice_state(choice)
            is_shown = choice.detail and (self._limits.is_full or not is_asked)
            words = (choice.name or "(empty)") + (f" ({choice.detail})" if is_shown else "")
            if is_asked:
                mark, ink = ("●", _INKS[entry.kind]) if box == "x" else ("○", Ink.FAINT)
                options.append(piece(f"{mark} {words}  ", ink))
            else:
                self.text(piece(f"[{box}] "), [piece(words + (f" — {state}" if state else ""))])
        if options:
            self.text(piece(""), options)

    def _blocks(self, entry: Entry, blocks: Sequence[TextBlock]) -> None:
        is_said = entry.kind in (EntryKind.PROMPT, EntryKind.MESSAGE, EntryKind.THOUGHT)
        is_whole = self._limits.is_full or is_said or entry.is_failed
        named = ("output", entry.title, *entry.remarks) if len(blocks) == 1 else ()
        for block in blocks:
            if self._is_hidden(block) and entry.kind is EntryKind.TOOL_CALL:
                continue
            if block.label and block.label not in named:
                label = block.label.removeprefix(self._directory)
                self.text(piece(""), [piece(f"{label}:", Ink.FAINT)])
            lines = [*_lines(block, is_said=is_said and not block.label)]
            shown = lines if is_whole else lines[:_MOST_LINES]
            for lead, *line in shown:
                self.text(lead, line)
            if left := len(lines) - len(shown):
                more = f"… and {left:,} more lines; --full prints them"
                self.text(GUTTER, [piece(more, Ink.FAINT)])

    def text(self, lead: Piece, pieces: Sequence[Piece]) -> None:
        """Prints wrapped text below the heading of an entry.

        Args:
            lead: the text before the first line. If it is `GUTTER`, it is repeated before each
                line.
            pieces: the text.
        """
        screen = self.screen if lead == GUTTER else self._narrow
        margin = piece(f"{self._margin}  ")
        room = (screen.columns or 0) - columns_of(margin[0] + lead[0])
        for line in wrap(pieces, room):
            self.line(screen.line(margin, lead, *line))
            lead = lead if lead == GUTTER else piece(" " * columns_of(lead[0]))


def _end_of(call: Entry) -> int:
    return LAST_NUMBER if call.state in RUNNING else call.last_seq


def _is_of_subagent(entry: Entry) -> bool:
    return any(remark.startswith("subagent ") for remark in entry.remarks)


def _lines(block: TextBlock, *, is_said: bool) -> Iterator[list[Piece]]:
    """Yields the lines of a block. A line in place of a left-out part says how long the part is."""
    text, is_code = block.text, False
    for part in [text.start, text.end] if text.left_out else [text.start]:
        if part is not text.start:
            words = f"… {text.left_out:,} of {text.characters:,} characters are left out …"
            yield [GUTTER, piece(words, Ink.FAINT)]
        shown = _ESCAPE.sub("", part.removesuffix("\n").replace("\r\n", "\n"))
        for line in shown.expandtabs(4).split("\n"):
            if is_said and FENCE.match(line):
                is_code = not is_code
            elif is_said and not is_code:
                yield [*rendered(line)]
            else:
                inks = _DIFF_INKS if block.form is TextForm.DIFF else {}
                ink = Ink.STDERR if is_code else {TextForm.NOTE: Ink.FAINT}.get(block.form)
                yield [GUTTER, piece(line, inks.get(line[:1], ink))]


def rendered(line: str) -> Iterator[Piece]:
    """Yields a line of a message in pieces, without marks of headings, lists, bold and code.

    Args:
        line: a line of Markdown.
    """
    bullet, heading = _BULLET.match(line), _HEADING.match(line)
    yield piece(f"{bullet[1]}• " if bullet else "")
    start = bullet or heading
    for part in _MARKED.split(line[start.end() :] if start else line):
        if part.startswith("**") and len(part) > 4:
            yield piece(part[2:-2], bold=True)
        elif part.startswith("`") and len(part) > 2:
            yield piece(part[1:-1], Ink.STDERR, bold=heading is not None)
        else:
            yield piece(part, bold=heading is not None)
