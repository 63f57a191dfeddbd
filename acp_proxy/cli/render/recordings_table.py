"""The table of recordings, of ``inspect list`` and of ``acp-proxy`` without a command."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePath

import click
from attrs import evolve

from acp_proxy.cli.render.output import Ink, use_color, warn, width
from acp_proxy.cli.render.table import Cell, Column, cell, table
from acp_proxy.inspection.diagnosis.conversation import first_prompt
from acp_proxy.recording import Recording
from acp_proxy.store.library import ListedRecording
from acp_proxy.wording import byte_size, duration, when

_PROMPT = 200
"""Characters of the first prompt."""
_UNFINISHED = ("incomplete", "unindexed", "recording")

_COLUMNS = (
    Column(""),
    Column("ID"),
    Column("NAME", least=14, most=38),
    Column("WHEN"),
    Column("TOOK", rank=5),
    Column("DIRECTORY", rank=6, least=12, most=24, keeps_end=True),
    Column("AGENT", rank=4, least=8, most=22),
    Column("CLIENT", rank=9, least=8, most=16),
    Column("STATE", rank=1),
    Column("EXIT", rank=1),
    Column("FRAMES", rank=8),
    Column("TURNS", rank=7),
    Column("SIZE", rank=10),
    Column("NOTE", rank=3, least=10, most=30),
    Column("FIRST PROMPT", rank=2, least=14, most=60),
)


def print_recordings(found: Sequence[ListedRecording], now: datetime | None = None) -> None:
    """Prints recordings as a table, newest first, and below it those that cannot be read.

    Args:
        found: the recordings.
        now: the present; a terminal shows how long ago recordings began.
    """
    columns, color = width(), use_color()
    now = now or datetime.now().astimezone()
    rows = [_cells(entry, recording, None if columns is None else now) for entry in found
            if (recording := entry.recording) is not None]  # fmt: skip
    if rows:
        filled = [evolve(c, cells=[row[n] for row in rows]) for n, c in enumerate(_COLUMNS)]
        for line in table(filled, columns, color=color, is_list=True):
            click.echo(line, color=color)
    for entry in found:
        if entry.problem is not None:
            warn(entry.problem)


def exit_text(code: int | None, signal: int | None) -> str:
    """An exit code, or the signal's number as a shell would write it.

    Args:
        code: the exit code, if there is one.
        signal: the number of the signal that ended the process, if one did.
    """
    if signal is not None:
        return f"sig {signal}"
    return str(code) if code is not None else ""


def _cells(entry: ListedRecording, recording: Recording, now: datetime | None) -> list[Cell]:
    """Returns the cells of a recording; times are absolute without ``now``."""
    started = datetime.fromisoformat(recording.started_at)
    took = ""
    if recording.ended_at:
        ended = datetime.fromisoformat(recording.ended_at)
        took = duration(int((ended - started).total_seconds() * 1e9))
    state = "running" if entry.live else recording.state
    code = exit_text(recording.exit_code, recording.exit_signal)
    if now is not None:  # one column has both
        state, code = "", code if state == "complete" else state
    live = Ink.TO_CLIENT if entry.live else None
    trouble = Ink.TROUBLE if entry.has_problem and code != "0" else None
    mark = cell("!" if entry.has_faults else "", Ink.STDERR)
    if entry.has_problem:
        mark = cell("✗", Ink.TROUBLE)
    return [
        mark,
        cell(recording.id[:6], live),
        cell(recording.name),
        cell(f"{started.astimezone():%Y-%m-%d %H:%M:%S}" if now is None else when(started, now)),
        cell(took),
        cell(recording.cwd if now is None else _tail(recording.cwd)),
        cell(recording.agent_title),
        cell(recording.client_title),
        cell(state, live),
        cell(code, live or (Ink.STDERR if code in _UNFINISHED else trouble)),
        cell(str(entry.frames)),
        cell(str(entry.turns)),
        cell(byte_size(entry.size)),
        cell(recording.note or ""),
        cell(first_prompt(entry.first_prompt)[:_PROMPT]),
    ]


def _tail(directory: str) -> str:
    """Returns the last two parts of a path, which identify a project."""
    parts = PurePath(directory).parts
    return directory if len(parts) <= 3 else f"…/{'/'.join(parts[-2:])}"
