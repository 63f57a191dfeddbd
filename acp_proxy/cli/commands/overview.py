"""Did it work? The running and the newest recordings, and what to type next."""

import shlex
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePath

import click

from acp_proxy.cli.render.output import Ink, paint, say, use_color, warn, width
from acp_proxy.cli.render.table import Heading, cells, layout
from acp_proxy.inspection.diagnosis.conversation import first_prompt
from acp_proxy.inspection.diagnosis.summary import is_troubled
from acp_proxy.recording import Recording
from acp_proxy.safe_text import visible
from acp_proxy.store.library import ListedRecording, list_recordings
from acp_proxy.wording import byte_size, duration, when

_NEWEST = 5
_PROMPT = 200

_COLUMNS = (
    Heading(""),
    Heading("ID"),
    Heading("NAME", least=14, most=38),
    Heading("WHEN"),
    Heading("TOOK", rank=5),
    Heading("DIRECTORY", rank=6, least=12, most=24, keeps_end=True),
    Heading("AGENT", rank=4, least=8, most=22),
    Heading("CLIENT", rank=9, least=8, most=16),
    Heading("STATE", rank=1),
    Heading("EXIT", rank=1),
    Heading("FRAMES", rank=8),
    Heading("TURNS", rank=7),
    Heading("SIZE", rank=10),
    Heading("NOTE", rank=3, least=10, most=30),
    Heading("FIRST PROMPT", rank=2, least=14, most=60),
)
_MARK, _ID, _STATE, _EXIT = 0, 1, 8, 9


def overview(directory: Path) -> None:
    """Shows the newest recordings and the next command."""
    found = checked_entries(directory)
    if not found:
        say(f"No recordings yet in {directory}.")
        say()
        say("Put this before the agent's command in your editor's settings:")
        say()
        say("    acp-proxy record --", bold=True)
        say()
        say("Then: acp-proxy inspect list        (acp-proxy --help shows all commands)")
        return
    table(found[:_NEWEST])
    if len(found) > _NEWEST:
        say(f"... and {len(found) - _NEWEST} more: acp-proxy inspect list")
    say()
    newest = next((e for e in found if e.recording is not None), None)
    if newest is not None and newest.recording is not None:
        name = shlex.quote(newest.path.stem)  # two recordings may have one name, never one path
        follow = " --follow" if newest.live else ""
        say(f"Next: acp-proxy inspect show {name}    or    acp-proxy inspect log {name}{follow}")


def checked_entries(directory: Path) -> list[ListedRecording]:
    """Reads a directory's recordings, newest first, and whether `inspect show` finds problems."""
    now = time.monotonic_ns()
    return list_recordings(directory, lambda reader: is_troubled(reader, now))


def table(found: Sequence[ListedRecording], now: datetime | None = None) -> None:
    """Prints recordings as a table, newest first, and below it those that cannot be read.

    Args:
        found: the recordings.
        now: the present, by which a terminal is told how long ago they began.
    """
    columns = width()
    now = now or datetime.now().astimezone()
    rows = [tuple(map(visible, _cells(entry, None if columns is None else now))) for entry in found
            if entry.recording is not None]  # fmt: skip
    if rows:
        chosen = layout(_COLUMNS, rows, columns)
        _print_row([c.title for c in _COLUMNS], chosen, bold=True)
        for row in rows:
            _print_row(row, chosen, ink=_ink(row[_MARK], row[_STATE], row[_EXIT]), bold=False)
    for entry in found:
        if entry.problem is not None:
            warn(entry.problem)


def exit_text(code: int | None, signal: int | None) -> str:
    """An exit code, or the signal's number as a shell would write it."""
    if signal is not None:
        return f"sig {signal}"
    return str(code) if code is not None else ""


def _print_row(
    row: Sequence[str],
    chosen: Sequence[tuple[int, int]],
    *,
    bold: bool,
    ink: Mapping[int, int] | None = None,
) -> None:
    texts = cells(_COLUMNS, row, chosen)
    if use_color():
        inks = ink or {}
        texts = [
            paint(text, inks.get(n), bold=bold) for text, (n, _) in zip(texts, chosen, strict=True)
        ]
    click.echo("".join(texts).rstrip(), color=use_color())


def _mark(entry: ListedRecording) -> str:
    """✗ if anything went wrong, else ! if a fault has done something."""
    return "✗" if entry.has_problem else "!" if entry.has_faults else ""


def _ink(mark: str, state: str, code: str) -> Mapping[int, int]:
    """What to colour: a recording that runs, one that was cut short, one with a problem."""
    inks = {_MARK: Ink.TROUBLE if mark == "✗" else Ink.STDERR}
    if "running" in (state, code):
        return inks | {_ID: Ink.TO_CLIENT, _STATE: Ink.TO_CLIENT, _EXIT: Ink.TO_CLIENT}
    if code in ("incomplete", "unindexed", "recording"):
        return inks | {_EXIT: Ink.STDERR}
    return inks | {_EXIT: Ink.TROUBLE} if mark == "✗" and code != "0" else inks


def _cells(entry: ListedRecording, now: datetime | None) -> tuple[str, ...]:
    """The cells of a recording; times are absolute without ``now``."""
    recording = entry.recording
    assert recording is not None
    started = datetime.fromisoformat(recording.started_at)
    took = ""
    if recording.ended_at:
        ended = datetime.fromisoformat(recording.ended_at)
        took = duration(int((ended - started).total_seconds() * 1e9))
    state = "running" if entry.live else recording.state
    code = exit_text(recording.exit_code, recording.exit_signal)
    if now is not None:  # one column for both says what is worth knowing
        state, code = "", code if state == "complete" else state
    return (
        _mark(entry),
        recording.id[:6],
        recording.name,
        f"{started.astimezone():%Y-%m-%d %H:%M:%S}" if now is None else when(started, now),
        took,
        recording.cwd if now is None else _tail(recording.cwd),
        recording.agent_title,
        recording.client_title,
        state,
        code,
        str(entry.frames),
        str(entry.turns),
        byte_size(entry.size),
        recording.note or "",
        first_prompt(entry.first_prompt)[:_PROMPT],
    )


def _tail(directory: str) -> str:
    """The last two parts of a path, which tell a project."""
    parts = PurePath(directory).parts
    return directory if len(parts) <= 3 else f"…/{'/'.join(parts[-2:])}"


def described(recording: Recording) -> str:
    """What an agent can be looked for by: its name, its version and its command."""
    return f"{recording.agent_title} {recording.command}"
