"""Writes a transcript as Markdown that can go into an issue."""

import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from attrs import evolve

from acp_proxy.base.wording import counted, duration, plain, seconds, visible
from acp_proxy.explain.describe.tool_texts import short_id
from acp_proxy.explain.origins import origin_rows
from acp_proxy.explain.transcript.entries import (
    EntryChoice,
    EntryKind,
    TextBlock,
    TextForm,
    TextLimits,
    TranscriptEntry,
    TranscriptSection,
)
from acp_proxy.recording.recording import Recording, needs

_SAID = (EntryKind.PROMPT, EntryKind.MESSAGE, EntryKind.THOUGHT)
_FOLDED = (EntryKind.THOUGHT, EntryKind.TOOL_CALL, EntryKind.TERMINAL, EntryKind.STDERR)
_LANGUAGES = {TextForm.TEXT: "text", TextForm.JSON: "json", TextForm.DIFF: "diff"}
NAMES = {
    EntryKind.PROMPT: "Prompt", EntryKind.THOUGHT: "Thought", EntryKind.TOOL_CALL: "Tool call",
    EntryKind.TERMINAL: "Terminal", EntryKind.PERMISSION: "Permission", EntryKind.PLAN: "Plan",
    EntryKind.NOT_ACP: "Not ACP", EntryKind.STDERR: "stderr", EntryKind.EVENT: "Event",
    EntryKind.END: "End of the turn", EntryKind.NOTE: "Note",
}  # fmt: skip
"""The names of kinds of entries. An entry of any other kind is named after its sender."""
_SENDERS = {(EntryKind.MESSAGE, "client"): "User", (EntryKind.REQUEST, "agent"): "Request"}
_SAFE = re.compile(r"[\w /.,=()%?!+;'-]", re.ASCII)
_INNER = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]")
_LINKED = re.compile(r"&#35;\d+|&#64;")
"""Matches escaped texts that GitHub would still turn into links: issue numbers and user names."""
_BACKTICKS = re.compile("`+")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_WRAPPED, _COLUMNS = 110, 100
"""A line of more than 110 characters is wrapped to 100 characters."""


def markdown(
    recording: Recording,
    items: Iterable[TranscriptSection | TranscriptEntry],
    limits: TextLimits,
    *,
    live: bool = False,
    shown: str = "",
) -> Iterator[str]:
    """Yields the lines of a transcript in Markdown.

    Args:
        recording: the properties of the recording.
        items: the sections and entries; each section comes before its entries.
        limits: how much of each text is written.
        live: whether the recording is still running.
        shown: the part of the recording that was requested, in words; empty for the whole
            recording.
    """
    yield from _head(recording, limits, live=live, shown=shown)
    page = _Page(limits, recording.step_ns)
    for item in items:
        yield ""
        yield from page.heading(item) if isinstance(item, TranscriptSection) else page.entry(item)
    if page.is_empty:
        yield ""
        yield "Nothing."


def _head(recording: Recording, limits: TextLimits, *, live: bool, shown: str) -> Iterator[str]:
    yield f"# Conversation {code_span(recording.name)}"
    yield ""
    state = "running" if live else recording.shown_state
    maker = "recorded by" if recording.origin is None else "imported by"
    tool = f"acp-proxy {recording.tool_version}"
    started = datetime.fromisoformat(recording.started_at).astimezone(UTC)
    at = f"{started:%Y-%m-%d %H:%M:%S}{' UTC' if recording.has_zone else ''}"
    where = f" in {code(recording.cwd)}" if recording.cwd else ""
    dialect = recording.dialect or "unknown"
    if recording.protocol_version:
        dialect += f", protocol {recording.protocol_version}"
    facts = [
        ("recording", f"{code(recording.id)}, {escaped(state)}"),
        ("agent", code(recording.agent_title)),
        ("command", code(shlex.join(recording.words))),
        ("client", code(recording.client_title)),
        ("dialect", escaped(dialect)),
        *((label, escaped(text)) for label, text in origin_rows(recording)),
        ("started", recording.known_start and f"{at}{where}"),
        ("ended", escaped("" if live else _ending(recording))),
        (maker, escaped(", ".join(filter(None, (tool, recording.platform))))),
        ("shown", escaped(shown)),
    ]
    yield "| | |"
    yield "|---|---|"
    yield from (f"| {name} | {value} |" for name, value in facts if value)
    yield ""
    yield _promise(limits)


def _promise(limits: TextLimits) -> str:
    """Returns a sentence which says which texts are cut or left out."""
    if limits.is_full:
        return "Nothing is cut or left out."
    return (
        f"Prompts, messages and thoughts of more than {limits.said:,} characters, and other texts"
        f" of more than {limits.output:,}, are cut in the middle."
        " Long lines of messages are wrapped. Lists of commands and reports of usage are left out."
        " `--full` shows everything as it was sent."
    )


@needs("ending", unknown="")
def _ending(recording: Recording) -> str:
    parts = []
    if recording.exit_signal is not None:
        parts.append(f"by signal {recording.exit_signal}")
    elif recording.exit_code is not None:
        parts.append(f"exit {recording.exit_code}")
    return ", ".join(filter(None, [*parts, recording.end_reason]))


class _Page:
    def __init__(self, limits: TextLimits, step_ns: int) -> None:
        self._limits = limits
        self._step_ns = step_ns
        self.is_empty = True

    def heading(self, section: TranscriptSection) -> Iterator[str]:
        """Yields the title of a section."""
        if section.turn is None:
            begun = not self.is_empty
            self.is_empty = False
            history = f"### History, loaded by `#{section.loaded_by}`" if section.loaded_by else ""
            yield history or ("### Outside of turns" if begun else "## Before the first turn")
            return
        if section.heading:
            again = ", continued" if section.heading == "continued" else ""
            yield f"## Session {code_span(section.session or '') or 'without a name'}{again}"
            yield ""
        self.is_empty = False
        took = _took(section.took_ns, self._step_ns)
        mark = "✗ " if section.is_failed else ""
        yield f"### {mark}Turn {section.turn}: {prose(section.state)}{took}"

    def entry(self, entry: TranscriptEntry) -> Iterator[str]:
        """Yields the lines of an entry."""
        if entry.kind in _FOLDED:
            yield from self._folded(entry)
        elif entry.kind in _SAID:
            yield f"{self._name(entry)}{_remarks(entry)}{_place(entry)}"
            yield from self._blocks(entry.blocks, is_said=True)
        else:
            yield f"{_mark(entry)}{_sentence(entry, self._step_ns)}{_remarks(entry)}{_place(entry)}"
            if entry.choices:
                yield ""
                yield from map(_choice, entry.choices)
            if entry.kind in (EntryKind.PLAN, EntryKind.NOT_ACP):
                yield from self._blocks(entry.blocks)
            elif entry.blocks:
                yield ""
                yield from self._shown(entry.blocks)

    def _shown(self, blocks: list[TextBlock]) -> Iterator[str]:
        """Yields the contents of a permission request or of its answer, folded."""
        labels = dict.fromkeys(code(block.label) or "text" for block in blocks)
        if len(blocks) == 1:
            blocks = [evolve(blocks[0], label="")]
        yield from self._details(", ".join(labels), blocks, is_open=False)

    def _folded(self, entry: TranscriptEntry) -> Iterator[str]:
        parts = [f"<b>{NAMES[entry.kind]}</b>", code(entry.title), code(entry.detail)]
        state = escaped(entry.state)
        if entry.took_ns is not None and entry.state:
            state = f"{state}{_took(entry.took_ns, self._step_ns)}"
        parts += [state, *map(code, entry.remarks)]
        if entry.kind is EntryKind.STDERR:
            lines = entry.blocks[0].text
            count = lines.start.count("\n") + lines.end.count("\n") + 1
            more = "" if not lines.left_out else " and more"
            parts.append(f"{counted(count, 'line')}{more}")
        number = number_of(entry)
        at = f" at {seconds(entry.t_ns)} s" if entry.t_ns is not None else ""
        where = f"{code(short_id(entry.id))} <code>{number}</code>{at}"
        words = " · ".join(filter(None, [*parts, where.strip()]))
        is_said = entry.kind in _SAID
        yield from self._details(
            f"{_mark(entry)}{words}", entry.blocks, is_open=entry.is_failed, is_said=is_said
        )

    def _details(
        self, summary: str, blocks: list[TextBlock], *, is_open: bool, is_said: bool = False
    ) -> Iterator[str]:
        yield "<details open>" if is_open else "<details>"
        yield f"<summary>{summary}</summary>"
        if blocks:
            yield from self._blocks(blocks, is_said=is_said)
            yield ""
        yield "</details>"

    def _blocks(self, blocks: Iterable[TextBlock], *, is_said: bool = False) -> Iterator[str]:
        for block in blocks:
            text = block.text
            if block.form is TextForm.NOTE:
                yield ""
                yield code_span(text.start)
                continue
            if block.label:
                yield ""
                yield f"{code_span(block.label)}:"
            is_wrapped = is_said and not block.label and not self._limits.is_full
            language = _LANGUAGES[block.form]
            yield ""
            yield from fenced(text.start, language, wrapped=is_wrapped)
            if text.left_out:
                yield ""
                yield f"*… {text.left_out:,} of {text.characters:,} characters are left out …*"
                yield ""
                yield from fenced(text.end, language, wrapped=is_wrapped)

    def _name(self, entry: TranscriptEntry) -> str:
        if entry.kind is EntryKind.MESSAGE:
            return f"**{sender_of(entry)}** {code_span(entry.detail)}".rstrip()
        return f"**{NAMES[entry.kind]}**"


def _took(ns: int | None, step_ns: int) -> str:
    return "" if ns is None else f" after {escaped(duration(ns, step_ns))}"


def _sentence(entry: TranscriptEntry, step_ns: int) -> str:
    """Returns a sentence about an entry, without the numbers of its frames."""
    title, state = code_span(entry.title), code_span(entry.state)
    took = _took(entry.took_ns, step_ns)
    match entry.kind:
        case EntryKind.PERMISSION:
            return f"**Permission** {title}: {state or 'answered'}{took}"
        case EntryKind.REQUEST:
            who = f"**{sender_of(entry)}** {code_span(entry.detail)}"
            return f"{who} {title} → {state or 'answered'}{took}"
        case EntryKind.END:
            return f"**End of the turn**: {title or state}{took}"
        case EntryKind.NOTICE:
            return f"**{sender_of(entry)}** {code_span(entry.detail)} {title}"
        case EntryKind.EVENT:
            return f"**Event** {code_span(entry.detail)}: {title}"
        case EntryKind.NOTE:
            return f"**Note** {title}"
        case EntryKind.PLAN:
            return f"**Plan** {code_span(entry.id)}".rstrip()
        case EntryKind.NOT_ACP:
            return f"**Not ACP**, from the {entry.by}: {title}"
    return title


def _choice(choice: EntryChoice) -> str:
    box, state = choice_state(choice)
    detail = f" ({escaped(choice.detail)})" if choice.detail else ""
    state = f" — {escaped(state)}" if state else ""
    return f"- [{box}] {code_span(choice.name) or '(empty)'}{detail}{state}"


def choice_state(choice: EntryChoice) -> tuple[str, str]:
    """Returns the mark of an option or a step, and its state in words.

    The mark is ``x`` for a chosen option or a completed step, and otherwise a blank. The state is
    empty if the mark is ``x``, or if the option or step is pending.

    Args:
        choice: the option or the step.
    """
    is_done = choice.state in ("chosen", "completed")
    return "x" if is_done else " ", "" if is_done or choice.state == "pending" else choice.state


def _remarks(entry: TranscriptEntry) -> str:
    return "".join(f" · {code_span(text)}" for text in entry.remarks)


def _place(entry: TranscriptEntry) -> str:
    at = f", {seconds(entry.t_ns)} s" if entry.t_ns else ""
    return f" · `{number_of(entry)}`{at}"


def sender_of(entry: TranscriptEntry) -> str:
    """Returns the word for an entry's sender: ``Agent``, ``Client``, ``User`` or ``Request``.

    A request of the agent gets the word ``Request``. A text of the user that the agent sends back,
    for example in a history, gets the word ``User``.
    """
    return _SENDERS.get((entry.kind, entry.by), entry.by.capitalize())


def number_of(entry: TranscriptEntry) -> str:
    """Returns the number of an entry's frame, or the numbers of its first and last frame."""
    return f"#{entry.seq}" if entry.last_seq == entry.seq else f"#{entry.seq}–{entry.last_seq}"


def _mark(entry: TranscriptEntry) -> str:
    return "✗ " if entry.is_failed else ""


def code(text: str) -> str:
    """Returns text of a recording as HTML code. No part of it becomes markup, even in a table."""
    return f"<code>{escaped(text)}</code>" if text else ""


def code_span(text: str) -> str:
    """Returns text of a recording as a code span, for places outside of tables and HTML."""
    text = plain(text)
    if not text.strip():
        return ""
    marks = "`" * (_longest_run(text) + 1)
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{marks}{pad}{text}{pad}{marks}"


def prose(text: str) -> str:
    """Returns a sentence of acp-proxy as Markdown. Text of a recording in it becomes no markup."""
    return _LINKED.sub(r"<code>\g<0></code>", escaped(text))


def escaped(text: str) -> str:
    """Escapes everything in a text that Markdown, HTML or GitHub would interpret."""
    text = plain(text)
    return "".join(_escaped(text, at) for at in range(len(text)))


def fenced(text: str, language: str = "text", *, wrapped: bool = False) -> Iterator[str]:
    """Yields the lines of a fenced code block. The text cannot end the block.

    Args:
        text: text of a recording, of any length.
        language: the language of the text.
        wrapped: whether to break long lines between words, except in code.
    """
    lines: Sequence[str] = _lines(text)
    if wrapped:
        lines = [*_wrap(lines)]
    fence = "`" * max(3, _longest_run(text) + 1)
    yield f"{fence}{language}"
    yield from lines
    yield fence


def _lines(text: str) -> list[str]:
    text = text.replace("\r\n", "\n").removesuffix("\n")
    return ["\t".join(map(visible, line.split("\t"))) for line in text.split("\n")]


def _wrap(lines: Sequence[str]) -> Iterator[str]:
    in_code = False
    for line in lines:
        in_code ^= _FENCE.match(line) is not None
        if in_code or len(line) <= _WRAPPED:
            yield line
        else:
            indent = " " * (len(line) - len(line.lstrip()))
            yield from textwrap.wrap(
                line, _COLUMNS, expand_tabs=False, replace_whitespace=False,
                subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _escaped(text: str, at: int) -> str:
    character = text[at]
    if character == "_" and _INNER.fullmatch(text[max(0, at - 1) : at + 2]) is None:
        return "&#95;"
    is_address = character in "wW" and text[at : at + 4].lower() == "www."
    if not is_address and (character.isalnum() or _SAFE.fullmatch(character)):
        return character
    return character if not character.isascii() else f"&#{ord(character)};"
