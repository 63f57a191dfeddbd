"""Did it work? The running and the newest recordings, and what to type next."""

import shlex
from datetime import datetime
from pathlib import Path

from acp_proxy.cli.output import columns_of, fit, pad, say, warn, width
from acp_proxy.inspection.preview import visible
from acp_proxy.inspection.summary import first_prompt
from acp_proxy.inspection.timeline import duration, size
from acp_proxy.store.library import Entry, entries

_NEWEST = 5


def overview(directory: Path) -> None:
    """Shows the newest recordings and the next command."""
    found = entries(directory)
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


def table(found: list[Entry]) -> None:
    """Prints recordings as a table, newest first."""
    cells = [_cells(entry) for entry in found if entry.recording is not None]
    rows = [_HEAD, *(tuple(map(visible, row)) for row in cells)]
    widths = [max(columns_of(row[n]) for row in rows) for n in range(len(_HEAD))]
    columns = width()
    for number, row in enumerate(rows):
        text = "  ".join(pad(cell, w) for cell, w in zip(row, widths, strict=True)).rstrip()
        say(fit(text, columns), bold=number == 0)
    for entry in found:
        if entry.problem is not None:
            warn(entry.problem)


_HEAD = ("ID", "NAME", "STARTED", "TOOK", "STATE", "EXIT", "FRAMES", "TURNS", "SIZE", "AGENT",
         "FIRST PROMPT")  # fmt: skip


def _cells(entry: Entry) -> tuple[str, ...]:
    recording = entry.recording
    assert recording is not None
    started = datetime.fromisoformat(recording.started_at)
    took = ""
    if recording.ended_at:
        ended = datetime.fromisoformat(recording.ended_at)
        took = duration(int((ended - started).total_seconds() * 1e9))
    agent = " ".join(filter(None, (recording.agent_name, recording.agent_version)))
    return (
        recording.id[:6],
        recording.name,
        started.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
        took,
        "running" if entry.live else recording.state,
        exit_text(recording.exit_code, recording.exit_signal),
        str(entry.frames),
        str(entry.turns),
        size(entry.size),
        agent,
        first_prompt(entry.first_prompt)[:80],
    )


def exit_text(code: int | None, signal: int | None) -> str:
    """An exit code, or the signal's number as a shell would write it."""
    if signal is not None:
        return f"sig {signal}"
    return str(code) if code is not None else ""
