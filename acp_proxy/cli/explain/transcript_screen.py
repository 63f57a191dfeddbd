"""Prints a transcript on a terminal: coloured headings, and text that is wrapped between words.

The entries are those of the Markdown. Headings, bold words and code of a message lose the marks of
Markdown, and output its colours; long output is shortened unless nothing may be left out.
"""

import re
from collections.abc import Iterable, Iterator

from acp_proxy.base.wording import duration, seconds
from acp_proxy.cli.explain.transcript_markdown import NAMES, choice_state, number_of, sender_of
from acp_proxy.cli.screens.output import stdout_screen
from acp_proxy.cli.screens.recording_page import RecordingPage
from acp_proxy.cli.screens.styled_text import Ink, Piece, columns_of, piece
from acp_proxy.explain.transcript.entries import (
    EntryKind,
    TextBlock,
    TextForm,
    TextLimits,
    TranscriptEntry,
    TranscriptSection,
)
from acp_proxy.recording.recording import Recording

_SAID = (EntryKind.PROMPT, EntryKind.MESSAGE, EntryKind.THOUGHT)
_INKS = {
    EntryKind.PROMPT: Ink.TO_AGENT, EntryKind.THOUGHT: Ink.FAINT, EntryKind.STDERR: Ink.STDERR,
    EntryKind.PERMISSION: Ink.PERMISSION, EntryKind.NOT_ACP: Ink.TROUBLE,
}  # fmt: skip
_SENDERS = {"client": Ink.TO_AGENT, "agent": Ink.TO_CLIENT}
_DIFF_INKS = {"-": Ink.TROUBLE, "+": Ink.TO_CLIENT, "@": Ink.FAINT}
_MOST_LINES = 12
"""The number of lines of output that are printed unless nothing may be left out."""
_MARKED = re.compile(r"(\*\*(?!\s)[^*]+(?<!\s)\*\*|`[^`]+`)")
_HEADING = re.compile(r"#{1,6} +")
_FENCE = re.compile(r" *(?:```|~~~)")
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
"""A colour, or another sequence for a terminal, in output."""
_TERMINAL = re.compile(r"terminal [^ ]+")
"""The note of a tool call about a terminal, which has an entry of its own."""


def show_transcript(
    recording: Recording,
    items: Iterable[TranscriptSection | TranscriptEntry],
    limits: TextLimits,
    *,
    live: bool = False,
) -> None:
    """Prints a transcript on the terminal.

    Args:
        recording: the properties of the recording.
        items: the sections, each before its entries.
        limits: how much of each text is printed.
        live: whether the recording is still running.
    """
    page = RecordingPage(stdout_screen())
    peers = filter(None, (recording.client_title, recording.agent_title))
    page.headline(recording, piece(" → ".join(peers)), live=live)
    is_empty = True
    for item in items:
        page.line("")
        is_empty = False
        if isinstance(item, TranscriptSection):
            _section(page, item, recording.step_ns)
        else:
            print_entry(page, item, limits, recording.step_ns)
    if is_empty:
        page.print(piece("Nothing."))
    page.flush()


def _section(page: RecordingPage, section: TranscriptSection, step_ns: int) -> None:
    """Prints a rule with the title of a section."""
    words = ["outside of turns"]
    if section.turn is not None:
        words = [f"turn {section.turn}", section.state, duration(section.took_ns, step_ns)]
    text = f"── {' · '.join(filter(None, [*words, section.session]))} "
    head, *_ = piece(text, Ink.TROUBLE if section.is_failed else None, bold=True)
    rule = "─" * ((page.screen.columns or 0) - columns_of(head))
    page.print((head + rule, Ink.TROUBLE if section.is_failed else None, True))


def print_entry(
    page: RecordingPage, entry: TranscriptEntry, limits: TextLimits, step_ns: int
) -> None:
    """Prints an entry: who did what, the choices, and the texts.

    Args:
        page: the page to print on.
        entry: the entry; its frames are named unless its number is 0.
        limits: how much of each text is printed.
        step_ns: the resolution of times; see `duration`.
    """
    page.wrap(piece(""), *_head(entry, step_ns), indent=4)
    for choice in entry.choices:
        box, state = choice_state(choice)
        detail = f" ({choice.detail})" if choice.detail else ""
        words = f"{choice.name or '(empty)'}{detail}{f' — {state}' if state else ''}"
        page.wrap(piece(f"  [{box}] "), piece(words))
    is_whole = limits.is_full or entry.kind in _SAID or entry.is_failed
    for block in entry.blocks:
        is_note = block.form is TextForm.NOTE and not limits.is_full
        if is_note and entry.kind is EntryKind.TOOL_CALL and _TERMINAL.fullmatch(block.text.start):
            continue
        if block.label:
            page.wrap(piece("  "), piece(f"{block.label}:", Ink.FAINT))
        lines = [*_lines(block, is_said=entry.kind in _SAID)]
        shown = lines if is_whole else lines[:_MOST_LINES]
        for line in shown:
            page.wrap(piece("  "), *line)
        if left := len(lines) - len(shown):
            page.print(piece(f"  … and {left:,} more lines; --full prints them", Ink.FAINT))


def _head(entry: TranscriptEntry, step_ns: int) -> Iterator[Piece]:
    """Yields who did what, the outcome, and the frames of an entry."""
    name = NAMES.get(entry.kind) or sender_of(entry) or "Peer"
    ink = _INKS.get(entry.kind) or _SENDERS.get(entry.by)
    yield piece("✗ " if entry.is_failed else "", Ink.TROUBLE, bold=True)
    yield piece(name, ink, bold=True)
    names = [entry.title, entry.detail]
    if entry.kind in (EntryKind.REQUEST, EntryKind.NOTICE, EntryKind.EVENT):
        names.reverse()  # the method is before the subject
    for text in (*names, *entry.remarks):
        yield piece(f"  {text}" if text else "")
    took = f" after {duration(entry.took_ns, step_ns)}" if entry.took_ns is not None else ""
    if entry.state:
        yield piece(f"  → {entry.state}{took}", Ink.TROUBLE if entry.is_failed else None)
    at = f", {seconds(entry.t_ns)} s" if entry.t_ns else ""
    if entry.seq:  # 0 while the conversation runs
        yield piece(f"  {number_of(entry)}{at}", Ink.FAINT)


def _lines(block: TextBlock, *, is_said: bool) -> Iterator[list[Piece]]:
    """Yields the lines of a block, and a line in place of the characters that are left out."""
    text, is_code = block.text, False
    parts = [text.start.removesuffix("\n").replace("\r\n", "\n")]
    if text.left_out:
        parts.append(text.end.removesuffix("\n").replace("\r\n", "\n"))
    for number, part in enumerate(parts):
        if number:
            words = f"… {text.left_out:,} of {text.characters:,} characters are left out …"
            yield [piece(words, Ink.FAINT)]
        for line in _ESCAPE.sub("", part).expandtabs(4).split("\n"):
            if block.form is TextForm.DIFF:
                yield [piece(line, _DIFF_INKS.get(line[:1]))]
            elif not is_said or block.label:
                yield [piece(line, Ink.FAINT if block.form is TextForm.NOTE else None)]
            elif _FENCE.match(line):
                is_code = not is_code
            else:
                yield [piece(line, Ink.STDERR)] if is_code else [*rendered(line)]


def rendered(line: str) -> Iterator[Piece]:
    """Yields a line of a message without the marks of headings, bold words and code.

    Args:
        line: a line of Markdown.
    """
    heading = _HEADING.match(line)
    for part in _MARKED.split(line[heading.end() :] if heading else line):
        if part.startswith("**") and len(part) > 4:
            yield piece(part[2:-2], bold=True)
        elif part.startswith("`") and len(part) > 2:
            yield piece(part[1:-1], Ink.STDERR, bold=heading is not None)
        else:
            yield piece(part, bold=heading is not None)
