"""``acp-proxy list``, and the overview that ``acp-proxy`` prints without a command."""

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path, PurePath

import click
from attrs import evolve

from acp_proxy.base.wording import byte_size, counted, in_one_line
from acp_proxy.cli.group import cli_command
from acp_proxy.cli.masking import is_unredacted
from acp_proxy.cli.opening import mapped, note_masked
from acp_proxy.cli.options import (
    complete_directory,
    directory_argument,
    directory_of_recordings,
    number_option,
    printing,
)
from acp_proxy.cli.screens.output import Page, progress, say, say_json, stdout_screen, warn
from acp_proxy.cli.screens.recording_page import begun
from acp_proxy.cli.screens.styled_text import Ink, text_of
from acp_proxy.cli.screens.table import Cell, Column, cell, table
from acp_proxy.explain.describe.token_texts import Tokens, brief_words, cost_words
from acp_proxy.explain.findings import Severity
from acp_proxy.explain.origins import lasted
from acp_proxy.explain.show.conversation_summary import first_prompt
from acp_proxy.explain.show.listed_recordings import agent_of, listed, listed_form, made_note
from acp_proxy.explain.show.result_words import result_words
from acp_proxy.record.capture.record_options import read_keep
from acp_proxy.recording.recording import Recording
from acp_proxy.store.files.directory import ListedRecording, paths
from acp_proxy.store.files.newest import newest_first

_NEWEST = 5
"""The largest number of recordings in the overview."""
_PROMPT = 200
"""The largest number of characters that are shown of the first prompt."""
_BROKEN = "BROKEN RULES"
_ONLY_PIPE = ("", "STATE", "EXIT", "WHAT IS WRONG")
"""The columns that are printed only in a pipe. A terminal shows a column of results instead."""
_RESULT = "RESULT"
_REPORTED = ("TOKENS", "COST")
"""The columns that are shown only if an agent reported their values."""
_COLUMNS = (
    Column(""),
    Column("ID", rank=3),
    Column("NAME", least=18, most=38),
    Column(_RESULT, least=34, most=44),
    Column("WHEN", rank=1),
    Column("TOOK", rank=5, right=True),
    Column("DIRECTORY", rank=6, least=12, most=24, keeps_end=True),
    Column("AGENT", rank=4, least=16, most=22),
    Column("CLIENT", rank=9, least=8, most=16),
    Column("STATE"),
    Column("EXIT"),
    Column("WHAT IS WRONG"),
    Column(_BROKEN, rank=1, least=19, most=22),
    Column("FRAMES", rank=8, right=True),
    Column("TURNS", rank=7, right=True),
    Column("SIZE", rank=10, right=True),
    Column("TOKENS", rank=6, right=True),
    Column("COST", rank=6, right=True),
    Column("NOTE", rank=3, least=10, most=30),
    Column("FIRST PROMPT", rank=2, least=24, most=60),
)


def _since(_ctx: click.Context, _param: click.Parameter, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        if re.fullmatch(r"[\d.]+[smhdw]", text.strip()):
            return datetime.now().astimezone() - timedelta(seconds=read_keep(text)[1])
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{text!r} is neither an age such as 2h or 7d nor a date such as 2025-06-15"
        ) from None


@cli_command("list")
@directory_argument
@click.option(
    "--cwd",
    type=click.Path(path_type=Path),
    shell_complete=complete_directory,
    is_flag=False,
    flag_value=Path(),
    metavar="[DIR]",
    help="Only recordings made in DIR or below; without DIR, in the current directory.",
)
@click.option("--agent", metavar="TEXT", help="Only recordings with TEXT in agent or command.")
@click.option(
    "--since",
    metavar="AGE|DATE",
    callback=_since,
    help="Only recordings that began within AGE (2h, 7d) or after DATE (2025-06-15).",
)
@number_option("-n", "--newest", text="Only the newest N.")
@click.option("--check", is_flag=True, help="Also check each recording for broken rules.")
@click.option("--json", is_flag=True, help="One JSON object per recording.")
@printing
def list_(
    directory: Path | None,
    cwd: Path | None,
    agent: str | None,
    since: datetime | None,
    newest: int | None,
    check: bool,
    json: bool,
) -> None:
    """List recordings, newest first.

    Without DIR, lists the recordings directory. A row begins with ✗ if the conversation failed: for
    instance, a request was never answered, or the agent crashed. A row begins with ! if the
    conversation may have failed, or if a fault fired. `show` prints the details. A narrow terminal
    has fewer columns; a pipe has all columns.

    Examples:
      acp-proxy list
          everything in the recordings directory
      acp-proxy list --cwd --since 2d
          recordings of the current project from the last two days
      acp-proxy list --agent claude -n 10
          the ten newest of one agent
      acp-proxy list --json | jq 'select(.has_problem) | .path'
          for a program: the paths of recordings with a problem
    """
    where = directory_of_recordings(directory)
    is_filtered = cwd is not None or agent is not None or since is not None
    if is_filtered:  # only listed recordings are read in full
        known = [*newest_first(where)]
        wanted = [path for path, recording in known if _matches(recording, cwd, agent, since)]
        entries = checked_entries(wanted[:newest])
        readable = sum(recording is not None for _, recording in known)
    elif newest is not None:
        entries = checked_entries(path for path, _ in islice(newest_first(where), newest))
        readable = len(paths(where)) - sum(entry.recording is None for entry in entries)
    else:
        entries = checked_entries(paths(where))
        readable = sum(entry.recording is not None for entry in entries)
    broken = _broken_rules(entries) if check else {}
    if json:
        for entry in entries:
            say_json(listed_form(entry) | {"broken_rules": broken.get(entry.path)})
        _note_masked(entries)
        return
    if not paths(where):
        warn(
            f"no recordings in {where}; put `acp-proxy record --` before an agent's command to"
            " make one there"
        )
        return
    _print_recordings(entries, broken)
    rules = "" if check else "; not checked for broken rules (--check)"
    say(f"{_total(entries, readable, where)}{rules}", dim=True)


def overview(directory: Path) -> None:
    """Shows the newest recordings and the next command."""
    entries = checked_entries(path for path, _ in islice(newest_first(directory), _NEWEST))
    if not entries:
        say(f"No recordings yet in {directory}.")
        say()
        say("Put this before the agent's command in your editor's settings:")
        say()
        from acp_proxy.cli.editors.own_command import own_command, this_machine

        words = shlex.join(own_command(this_machine()))
        say(f"    {words} record --", bold=True)
        say()
        say("`acp-proxy setup` finds your editors, and prints or writes their settings.")
        say("`acp-proxy --help` lists all commands.")
        return
    _print_recordings(entries)
    if (more := len(paths(directory)) - _NEWEST) > 0:
        say(f"... and {more} more: acp-proxy list")
    newest = next((e for e in entries if e.recording is not None), None)
    if newest is not None and newest.recording is not None:
        name = shlex.quote(newest.path.stem)  # two recordings may have one name, never one path
        follow = " --follow" if newest.live else ""
        page = Page(stdout_screen())
        page.next(f"acp-proxy show {name}", f"acp-proxy log {name}{follow}")
        page.flush()


def checked_entries(recordings: Iterable[Path]) -> list[ListedRecording]:
    """Reads recordings, newest first, each with the problems of its conversation."""
    return listed(recordings, unredacted=is_unredacted(), mapped=mapped)


def _broken_rules(
    listed_recordings: Sequence[ListedRecording],
) -> dict[Path, dict[str, int] | None]:
    """Counts the findings of a check in each recording, by severity."""
    from acp_proxy.check.check_report import counts_of  # late: it takes a while

    readable = [entry.path for entry in listed_recordings if entry.recording is not None]
    counts = mapped(partial(counts_of, unredacted=is_unredacted()), readable)
    checked = progress(counts, len(readable), "checking")
    return dict(zip(readable, checked, strict=True))


def _print_recordings(
    listed_recordings: Sequence[ListedRecording],
    broken: Mapping[Path, dict[str, int] | None] | None = None,
) -> None:
    """Prints a table, and then a warning for each recording that cannot be read.

    Args:
        listed_recordings: the recordings.
        broken: for each recording, the number of findings by severity; None if rules were not
            checked.
    """
    checked = broken or {}
    page = Page(stdout_screen())
    now = None if page.screen.columns is None else datetime.now().astimezone()
    rows = [_cells(entry, recording, now, checked.get(entry.path)) for entry in listed_recordings
            if (recording := entry.recording) is not None]  # fmt: skip
    if rows:
        hidden = {_RESULT} if now is None else {*_ONLY_PIPE}
        hidden |= set() if checked else {_BROKEN}
        filled = [
            evolve(column, cells=[*cells])
            for column, cells in zip(_COLUMNS, zip(*rows, strict=True), strict=True)
            if column.title not in hidden
            and (column.title not in _REPORTED or any(map(text_of, cells)))
        ]
        page.lines(table(filled, page.screen, is_list=True))
        page.flush()
    for entry in listed_recordings:
        if entry.problem is not None:
            warn(entry.problem)
    _note_masked(listed_recordings)


def _note_masked(listed_recordings: Sequence[ListedRecording]) -> None:
    note_masked(sum(entry.masked for entry in listed_recordings), "in this list")


def _cells(
    entry: ListedRecording,
    recording: Recording,
    now: datetime | None,
    broken: dict[str, int] | None,
) -> list[Cell]:
    """Returns the cells of a recording. If ``now`` is None, times are absolute."""
    state = "running" if entry.live else recording.shown_state
    code = str(recording.exit_code) if recording.exit_code is not None else ""
    if recording.exit_signal is not None:
        code = f"sig {recording.exit_signal}"
    findings = entry.findings or ()
    first = next((f for f in findings if f.severity != Severity.INFO), None)
    is_sick = first is not None and first.severity == Severity.ERROR
    counts = broken or {}
    mark, ink = "", None if recording.state == "complete" else Ink.STDERR
    if broken is not None and ink is None:
        mark, ink = "✓", Ink.TO_CLIENT
    if entry.has_faults or first is not None or counts.get("warning"):
        mark, ink = "!", Ink.STDERR
    if is_sick or counts.get("error"):
        mark, ink = "✗", Ink.TROUBLE
    live, tokens = Ink.TO_CLIENT if entry.live else None, entry.tokens or Tokens()
    result = result_words(findings, recording, entry.waiting, live=entry.live)
    wrong = "" if first is None else (entry.live and first.brief) or first.text
    if first is None and (counts.get("error") or counts.get("warning")):
        result = "broke rules"
    if entry.live:
        result = f"running: {result}"
    return [
        cell("" if mark == "✓" else mark, ink),
        cell(recording.id[:6], live),
        cell(_name(entry.path, recording)),
        cell(f"{mark} {result}".lstrip(), live if first is None and live else ink),
        cell(begun(recording, now)),
        cell(lasted(recording)),
        cell(recording.cwd if now is None else _tail(recording.cwd)),
        cell(agent_of(recording)),
        cell(recording.client_title),
        cell(state, live),
        cell(code, live or (Ink.TROUBLE if is_sick and code != "0" else None)),
        cell(entry.waiting or wrong, live),
        _rules(broken),
        cell(str(entry.frames)),
        cell(str(entry.turns)),
        cell(byte_size(entry.size)),
        cell(brief_words(tokens)),
        cell(cost_words(tokens)),
        cell(made_note(entry, recording)),
        cell(in_one_line(first_prompt(entry.first_prompt))[:_PROMPT]),
    ]


def _rules(broken: dict[str, int] | None) -> Cell:
    """Returns the numbers of errors and warnings; an empty cell for an unchecked recording."""
    if broken is None:
        return cell("")
    words = [counted(broken[name], name) for name in ("error", "warning") if broken[name]]
    ink = Ink.TROUBLE if broken["error"] else Ink.STDERR if words else Ink.TO_CLIENT
    return cell(", ".join(words) or "none", ink)


def _name(path: Path, recording: Recording) -> str:
    """Returns a recording's name, and also the file's name if it differs."""
    stem = path.name.removesuffix(path.suffix)
    return recording.name if stem == recording.name else f"{recording.name} ({stem})"


def _tail(directory: str) -> str:
    """Returns the last two parts of a path."""
    parts = PurePath(directory).parts
    return directory if len(parts) <= 3 else f"…/{'/'.join(parts[-2:])}"


def _total(listed_recordings: list[ListedRecording], readable: int, where: Path) -> str:
    """Returns the line of totals. Files that cannot be read are counted separately."""
    listed = [entry for entry in listed_recordings if entry.recording is not None]
    few = "" if len(listed) == readable else f" of {readable}"
    total = byte_size(sum(entry.size for entry in listed))
    text = f"{len(listed)}{few} recording{'s' * (readable != 1)}, {total} in {where}"
    if unreadable := len(listed_recordings) - len(listed):
        text += f"; {unreadable} file{'s' * (unreadable > 1)} cannot be read"
    return text


def _matches(
    recording: Recording | None, cwd: Path | None, agent: str | None, since: datetime | None
) -> bool:
    if recording is None:
        return False
    if cwd is not None and not _is_within(recording.cwd, cwd):
        return False
    described = f"{recording.agent_title} {recording.command}"
    if agent is not None and agent.casefold() not in described.casefold():
        return False
    return since is None or datetime.fromisoformat(recording.started_at) >= since


def _is_within(made_in: str, directory: Path) -> bool:
    return Path(os.path.realpath(made_in)).is_relative_to(os.path.realpath(directory))
