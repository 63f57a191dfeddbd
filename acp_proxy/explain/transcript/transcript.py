"""Reads a recording as a transcript: one pass over its frames, section by section.

Frames are read in order, and only one unfinished message is kept in memory. All messages about a
tool call or a terminal become one entry, at the position of the first message. A request is shown
with its answer.
"""

import json
from collections.abc import Iterator
from typing import Any

from attrs import evolve

from acp_proxy.base.limits import DESCRIPTION, LAST_NUMBER
from acp_proxy.base.wording import plain
from acp_proxy.explain.choice import row_of
from acp_proxy.explain.describe.content_texts import content as describe
from acp_proxy.explain.describe.event_texts import describe_event
from acp_proxy.explain.describe.phrases import Value, message_of, part
from acp_proxy.explain.describe.session_texts import is_hidden, prompt_result
from acp_proxy.explain.message_pass import HISTORY, opened_before
from acp_proxy.explain.observed_faults import mark
from acp_proxy.explain.origins import known_value
from acp_proxy.explain.preview import preview
from acp_proxy.explain.transcript import request_entries
from acp_proxy.explain.transcript.contents import (
    STDERR,
    MessageRun,
    PieceKey,
    TextCollector,
    blocks_of,
    text_block,
)
from acp_proxy.explain.transcript.entries import (
    EntryKind,
    TextLimits,
    TranscriptEntry,
    TranscriptSection,
)
from acp_proxy.explain.transcript.entry_lookup import MessageLookup
from acp_proxy.explain.transcript.sections import SectionRows, Sections
from acp_proxy.protocol.chunks import chunk_of
from acp_proxy.protocol.dialects import OPENING, PERMISSION, PROMPT
from acp_proxy.protocol.jsonrpc import SENDERS
from acp_proxy.protocol.updates import (
    CALL_UPDATES,
    PLANS,
    STATE_UPDATES,
    THOUGHT_CHUNKS,
    UPDATE,
    WHOLE_MESSAGES,
    WHOLE_THOUGHT,
    kind_and_update,
)
from acp_proxy.recording.filters import EVERYTHING, Filter
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row

_THOUGHTS = (*THOUGHT_CHUNKS, WHOLE_THOUGHT)
_QUIET = ("start", "eof")
"""Events that are not shown, because they say nothing about the conversation."""
_ASKED_TO_END = ("SIGTERM", "SIGINT", "SIGHUP")
"""Signals that clients send to end an agent."""
_TROUBLE = ("gap", "undelivered", "fault")
_REPEATED = {"message", "thought", "tool_call", "plan", "notice"}
"""Kinds of entries that a history can have."""
_REQUESTS = {PROMPT: request_entries.prompt, PERMISSION: request_entries.permission}


class TranscriptReader:
    """Reads one recording as a transcript.

    Args:
        reader: the recording.
        chosen: a filter of frames. If it matches one frame of a tool call, a terminal or a request,
            the whole entry is shown.
        limits: how much of each text is kept.
        turn: the number of the only turn that is shown; None for the whole recording.
        rows: all rows that match the filter, if the caller has read them; None to read them here.
    """

    def __init__(
        self,
        reader: RecordingReader,
        chosen: Filter = EVERYTHING,
        limits: TextLimits = TextLimits(),  # noqa: B008  it is frozen
        turn: int | None = None,
        rows: Iterator[Row] | None = None,
    ) -> None:
        self._reader = reader
        self._chosen = chosen
        self._limits = limits
        self._sections = Sections(reader, chosen, turn, rows)
        self._lookup = MessageLookup(reader, limits)
        self._hints = self._lookup.hints
        self._part: SectionRows
        self._run: MessageRun | None = None
        self._session: str | None = None
        self._seen: set[str | None] = set()
        """The sessions of the turns so far."""
        self._calls: set[tuple[str | None, str, int]] = set()
        self._terminals: set[tuple[str | None, str]] = set()
        self._loading: dict[str | None, tuple[int, int]] = {}
        """By session: the frame of the request that loads the session, and the frame of the answer.
        Updates between the two frames are history."""
        self._opened_before = opened_before(reader.recording)
        self._opened: set[str | None] = set()
        """The sessions whose opening was shown."""
        self._exchanges: set[int] = set()
        """The exchanges that were shown; empty without a filter."""

    def read(self) -> Iterator[TranscriptSection | TranscriptEntry]:
        """Yields the sections, each followed by its entries. Leaves out sections without entries.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        recording = self._reader.recording
        for section_rows in self._sections.read():
            self._part = section_rows
            self._calls.clear()
            begun, section = None, section_rows.section
            for entry in self._entries():
                if section.turn is None:
                    section = self._outside(section, entry)
                if section is not begun:
                    begun = section
                    yield self._headed(section)
                if section.loaded_by and entry.session and entry.kind in _REPEATED:
                    entry.remarks.append("history")
                    entry = evolve(entry, took_ns=None)
                elif section.turn is None and entry.kind is EntryKind.TOOL_CALL:
                    entry.remarks.append("outside of a turn")
                elif section.turn is not None and entry.session not in (None, section.session):
                    entry.remarks.append(f"subagent {entry.session}")
                yield known_value(recording, entry)
            turn, is_open = section_rows.turn, self._reader.is_open
            if begun is not None and turn is not None and turn.end_seq is None:
                state = "open" if is_open else "never answered"
                span = turn.prompt_seq, turn.prompt_seq
                end = TranscriptEntry(EntryKind.END, *span, 0, state=state, is_failed=not is_open)
                yield known_value(recording, end)

    def _outside(self, section: TranscriptSection, entry: TranscriptEntry) -> TranscriptSection:
        """Returns an entry's section outside of turns; a new one where a history begins or ends."""
        unasked = 0 if entry.session in self._opened else self._opened_before
        asked, upto = self._loading.get(entry.session, (unasked, unasked))
        loaded_by = asked if entry.kind in _REPEATED and entry.seq < upto else None
        is_within = any(entry.seq < upto for _, upto in self._loading.values())
        if loaded_by == section.loaded_by or (entry.session is None and is_within):
            return section  # such as stderr in the middle of a history
        return evolve(section, seq=entry.seq, loaded_by=loaded_by)

    def _headed(self, section: TranscriptSection) -> TranscriptSection:
        """Returns a section. Adds a heading if the section is a turn and the session changes.

        The first turn has a heading, too.
        """
        session = section.session
        if section.turn is None or (self._seen and session == self._session):
            return section
        heading = "continued" if session in self._seen else "begins"
        self._session = session
        self._seen.add(session)
        return evolve(section, heading=heading)

    def _entries(self) -> Iterator[TranscriptEntry]:
        """Yields the entries of the current section. A note about a row follows the row's entry."""
        notes = self._reader.recording.row_notes
        for row in self._part.rows:
            yield from self._of_row(row)
            if row["seq"] in notes:
                yield from self._end_run()
                title = " ".join(notes[row["seq"]].split())
                span = row["seq"], row["seq"]
                yield TranscriptEntry(EntryKind.NOTE, *span, row["t_ns"], title)
        yield from self._end_run()

    def _of_row(self, row: Row) -> Iterator[TranscriptEntry]:
        """Yields the entries that a row completes. Consecutive chunks become one entry."""
        if (piece := self._piece(row)) is not None:
            key, text = piece
            if self._run is None or self._run.key != key:
                yield from self._end_run()
                most = self._limits.output if key[1] == STDERR else self._limits.said
                self._run = MessageRun(key, row, TextCollector(most))
            self._run.add(row, text)
            return
        for entry in self._of(row):
            yield from self._end_run()
            is_own = entry.seq == row["seq"] and not entry.session
            yield evolve(entry, session=row.get("session")) if is_own else entry

    def _end_run(self) -> Iterator[TranscriptEntry]:
        run, self._run = self._run, None
        if run is not None and (entry := run.entry()) is not None:
            yield entry

    def _piece(self, row: Row) -> tuple[PieceKey, str] | None:
        """Returns the key and the text of a chunk or a line of stderr; None for any other row."""
        kind, hidden = row["kind"] if "raw" in row else "", False
        if kind == "stderr":
            return (row["session"], STDERR, "", False), _decoded(row)
        is_update = kind == "notification" and row["method"] == UPDATE
        if not is_update or (chunk := chunk_of(row["raw"])) is None:
            return None
        if chunk.update in THOUGHT_CHUNKS and b'"visible"' in row["raw"]:
            hidden = is_hidden(kind_and_update(part(message_of(row["raw"]), "params"))[1])
        return (row["session"], chunk.update, chunk.message_id or "", hidden), chunk.text

    def _of(self, row: Row) -> Iterator[TranscriptEntry]:
        """Yields the entry of a row. Yields nothing if another entry shows the row."""
        match row["kind"]:
            case _ if "raw" not in row:
                yield from self._event(row)
            case "blank":
                pass
            case "invalid":
                block = text_block(_decoded(row), self._limits.output)
                title = plain(row["parse_error"] or "")
                yield _entry(EntryKind.NOT_ACP, row, title, blocks=[block], is_failed=True)
            case "request":
                yield from self._request(row)
            case "response" | "error":
                yield from self._answer(row)
            case "notification" if row["method"] == UPDATE:
                yield from self._update(row)
            case _:
                yield self._notice(row)

    def _event(self, row: Row) -> Iterator[TranscriptEntry]:
        if row["kind"] in _QUIET and not self._limits.is_full:
            return
        data = json.loads(row["data"])
        is_asked = data.get("name", "SIGTERM") in _ASKED_TO_END and not data.get("code")
        failed = row["kind"] in _TROUBLE or (row["kind"] == "exit" and not is_asked)
        title = describe_event(row["kind"], data)[:DESCRIPTION]
        yield TranscriptEntry(
            EntryKind.EVENT, row["seq"], row["seq"], row["t_ns"], title,
            is_failed=bool(failed), detail=row["kind"],
        )  # fmt: skip

    def _notice(self, row: Row) -> TranscriptEntry:
        hints = self._hints.of(row)
        title = preview(row["raw"], row["kind"], row["method"], None, hints, size=row["size"])
        failed = row["kind"] == "error"
        return _entry(EntryKind.NOTICE, row, title[:DESCRIPTION], is_failed=failed)

    # Session updates

    def _update(self, row: Row) -> Iterator[TranscriptEntry]:
        kind, update = kind_and_update(part(message_of(row["raw"]), "params"))
        turn = self._part.turn
        if kind in CALL_UPDATES and row["tool_call"] is not None:
            yield from self._call(row)
        elif kind in ("terminal_update", "terminal_output_chunk") and row["terminal"] is not None:
            yield from self._terminal(row, row["terminal"])
        elif kind in PLANS:
            yield request_entries.plan(update, row["seq"], row["t_ns"], self._limits)
        elif kind == "state_update" and turn is not None and row["seq"] == turn.end_seq:
            yield self._end(row, prompt_result(update))
        elif kind in WHOLE_MESSAGES or kind.endswith("_message_chunk") or kind in _THOUGHTS:
            yield from self._message(row, kind, update)
        elif self._limits.is_full or kind not in (*STATE_UPDATES, "state_update"):
            yield self._notice(row)

    def _message(self, row: Row, kind: str, update: Value) -> Iterator[TranscriptEntry]:
        """Yields the entry of a message that is not a text chunk, such as an image."""
        blocks = [*blocks_of(update.get("content"), self._limits.said)]
        if not blocks and "content" in update:
            shown = describe(update["content"]) or "(empty)"
            blocks = [text_block(shown, self._limits.said)]
        if blocks:
            what = EntryKind.THOUGHT if kind in _THOUGHTS else EntryKind.MESSAGE
            by = "client" if kind.startswith("user") else "agent"
            yield _entry(what, row, "", blocks=blocks, by=by)

    def _call(self, row: Row) -> Iterator[TranscriptEntry]:
        session, tool_call = row["session"], row["tool_call"]
        span = self._hints.span(session, tool_call, row["seq"])
        key = (session, tool_call, span[0])
        if key in self._calls:
            return
        self._calls.add(key)
        yield self._lookup.call(row, self._part.section, span)

    # Requests and answers

    def _request(self, row: Row) -> Iterator[TranscriptEntry]:
        method = row["method"]
        if row["exchange"] is not None and self._chosen is not EVERYTHING:
            self._exchanges.add(row["exchange"])
        terminal = row["terminal"] or row.get("answer_terminal")
        if (method or "").startswith("terminal/") and terminal is not None:
            yield from self._terminal(row, terminal)
            return
        if method in OPENING:
            self._opened.add(row["session"] or row.get("answer_session"))
        if method in HISTORY:
            self._loading[row["session"]] = row["seq"], row["response_seq"] or LAST_NUMBER
        make = _REQUESTS.get(method, request_entries.request)
        entry = make(self._lookup.asked(row), self._limits)
        _add_mark(entry, row)
        yield entry

    def _terminal(self, row: Row, terminal: str) -> Iterator[TranscriptEntry]:
        """Yields the entry of a terminal if the row is the first row about this terminal."""
        key = (row["session"], terminal)
        is_new = row["method"] == "terminal/create" and row["kind"] == "request"
        if key in self._terminals and not is_new:
            return
        self._terminals.add(key)
        entry = self._lookup.terminal(row, terminal, is_new=is_new)
        _add_mark(entry, row)
        yield entry

    def _answer(self, row: Row) -> Iterator[TranscriptEntry]:
        """Yields an entry for an answer if it ends a turn, or if its request was not shown.

        All other answers are in the entries of their requests.
        """
        turn = self._part.turn
        if row["method"] == PROMPT and turn is not None and row["seq"] == turn.end_seq:
            if row["kind"] == "error":
                hints = self._hints.of(row)
                error = preview(row["raw"], "error", PROMPT, None, hints)[:DESCRIPTION]
                yield self._end(row, f"error {error}", is_failed=True)
            else:
                yield self._end(row, prompt_result(part(message_of(row["raw"]), "result")))
        elif row["request_seq"] is None:
            yield self._notice(row)
        elif self._chosen is not EVERYTHING and row["exchange"] not in self._exchanges:
            asked = row_of(self._reader, row["request_seq"])
            for member in asked.get("members") or [asked]:
                if member["exchange"] == row["exchange"] and member["method"] != PROMPT:
                    yield from self._request(member)

    def _end(self, row: Row, title: str, *, is_failed: bool = False) -> TranscriptEntry:
        turn = self._part.turn
        assert turn is not None
        is_odd = (turn.stop_reason or "end_turn") not in ("end_turn", "cancelled")
        return _entry(
            EntryKind.END, row, title or "ended", is_failed=is_failed or is_odd,
            took_ns=turn.duration_ns, by="", detail="",
        )  # fmt: skip


def _entry(kind: EntryKind, row: Row, title: str, **more: Any) -> TranscriptEntry:
    """Returns the entry of a single row. If a fault changed the frame, a remark reports this."""
    named = {"by": SENDERS.get(row["stream"], ""), "detail": row["method"] or "", **more}
    entry = TranscriptEntry(kind, row["seq"], row["seq"], row["t_ns"], title, **named)
    _add_mark(entry, row)
    return entry


def _add_mark(entry: TranscriptEntry, row: Row) -> None:
    if remark := mark(row):
        entry.remarks.append(remark.strip())


def _decoded(row: Row) -> str:
    return bytes(row["raw"]).decode(errors="replace")
