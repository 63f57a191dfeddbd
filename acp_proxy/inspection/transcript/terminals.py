"""Combines all messages about a terminal into one entry: its command, its output, its end."""

import base64
import binascii
import codecs
from collections.abc import Iterable

from acp_proxy.inspection.describe.content import command_of, exit_state
from acp_proxy.inspection.describe.values import Value, part, word
from acp_proxy.inspection.diagnosis.messages import StoredMessage
from acp_proxy.inspection.transcript.contents import TextCollector
from acp_proxy.inspection.transcript.values import (
    EntryKind,
    TextBlock,
    TextForm,
    TextLimits,
    TranscriptEntry,
)
from acp_proxy.protocol.updates import UPDATE, kind_and_update

_CREATE, _OUTPUT = "terminal/create", "terminal/output"
_ENDING = {"terminal/kill": "killed", "terminal/release": "released"}
_LONGEST_TITLE = 300


class TerminalMessages:
    """Collects the messages about one terminal.

    Args:
        limits: how much of the output is kept.
        terminal: the id of the terminal.
    """

    def __init__(self, limits: TextLimits, terminal: str) -> None:
        self._limits = limits
        self._terminal = terminal
        self._command, self._directory, self._exit = "", "", ""
        self._remarks: list[str] = []
        self._error = ""
        self._is_over = False
        self._first_ns = self._last_ns = self._last_seq = 0
        self._clear()

    def _clear(self) -> None:
        self._output = TextCollector(self._limits.output)
        self._stream, self._is_line_open = "stdout", False
        # A chunk may end within a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add_all(self, messages: Iterable[StoredMessage]) -> None:
        """Adds messages in their order, until another terminal gets the same id."""
        created = 0
        for message in messages:
            if message.kind == "request" and message.method == _CREATE:
                created += 1
                if created > 1:
                    return
            self._first_ns = self._first_ns or message.t_ns
            if not self._is_over:
                self._last_ns = message.t_ns
            self._last_seq = message.seq
            self._add(message)

    def _add(self, message: StoredMessage) -> None:
        params, result = message.part("params"), message.part("result")
        if message.method == UPDATE:
            self._add_update(params)
        elif message.method == _CREATE and message.kind == "request":
            self._read_command(params)
        elif message.method == _OUTPUT and message.kind == "request":
            if isinstance(data := params.get("data"), str):  # 1.0 draft: the client pushes it
                self._push(data, word(params, "stream"))
        elif isinstance(output := result.get("output"), str):
            self._clear()
            self._output.add(output)
            if result.get("truncated") is True:
                self._remark("the client has left out the beginning of the output")
        elif message.method in _ENDING and message.kind == "request":
            self._remark(_ENDING[message.method or ""])
        elif message.method == _CREATE and message.kind == "error":
            self._error = word(message.part("error"), "message") or "error"
        self._read_exit(part(result, "exitStatus") or result)

    def _push(self, data: str, stream: str) -> None:
        """Adds pushed output, below the name of its stream where another one wrote before."""
        if data and stream in ("stdout", "stderr") and stream != self._stream:
            self._output.add(("\n" if self._is_line_open else "") + f"{stream}:\n")
            self._stream = stream
        self._output.add(data)
        self._is_line_open = not data.endswith("\n") if data else self._is_line_open

    def _add_update(self, params: Value) -> None:
        """Adds an update about a terminal that the agent runs itself (v2); its output is base64."""
        kind, update = kind_and_update(params)
        if kind == "terminal_output_chunk":
            self._add_base64(update.get("data"))
            return
        self._read_command(update)
        if isinstance(data := part(update, "output").get("data"), str):
            self._clear()
            self._add_base64(data)
        self._read_exit(part(update, "exitStatus"))

    def _add_base64(self, data: object) -> None:
        try:
            decoded = base64.b64decode(data, validate=True) if isinstance(data, str) else b""
        except (binascii.Error, ValueError):
            self._remark("output that is not base64")
            return
        self._output.add(self._decoder.decode(decoded))

    def _read_command(self, value: Value) -> None:
        self._command = command_of(value) or self._command
        self._directory = word(value, "cwd") or self._directory

    def _read_exit(self, value: Value) -> None:
        if found := exit_state(value):
            self._exit, self._is_over = found, True

    def _remark(self, text: str) -> None:
        if text not in self._remarks:
            self._remarks.append(text)

    def entry(self, seq: int, t_ns: int, *, unended: str) -> TranscriptEntry:
        """Returns the entry of the terminal.

        Args:
            seq: the number of the first frame about it.
            t_ns: the time of that frame.
            unended: its state if no message says that it ended.
        """
        output = self._output.text
        state = self._error or self._exit or unended
        if self._remarks and not self._exit and not self._error:
            state = ""
        return TranscriptEntry(
            EntryKind.TERMINAL,
            seq,
            max(seq, self._last_seq),
            t_ns,
            title=(self._command or self._terminal)[:_LONGEST_TITLE],
            state=state,
            is_failed=bool(self._error) or self._exit not in ("", "exit 0"),
            took_ns=self._last_ns - self._first_ns if self._is_over else None,
            by="agent",
            detail=self._directory,
            id=self._terminal,
            remarks=self._remarks,
            blocks=[TextBlock(TextForm.TEXT, output, "output")] if output.characters else [],
        )
