"""``acp-proxy secrets``: the masked values of recordings, and their places."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from acp_proxy.base.errors import NoSuchRecording, UnreadableRecording
from acp_proxy.base.forms import converter
from acp_proxy.base.limits import EXAMPLES
from acp_proxy.base.wording import counted
from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.opening import STDIN, open_recording
from acp_proxy.cli.options import complete_recording
from acp_proxy.cli.screens.output import say, say_json, warn, with_verdict
from acp_proxy.cli.screens.pager import pages
from acp_proxy.explain.masked_secrets import MaskedValue, masked_values
from acp_proxy.store.queries.masked_rows import Level


@cli_command()
@click.argument("recs", metavar="[REC]...", nargs=-1,
                shell_complete=complete_recording)  # fmt: skip
@click.option("--check", is_flag=True, help="Exit with 1 if a file holds an unmasked secret.")
@click.option("--json", is_flag=True, help="One JSON object per place.")
@pages
@with_verdict
def secrets(recs: tuple[str, ...], check: bool, json: bool) -> None:
    """List the masked values of recordings and their places; never prints a secret.

    Each value has a marker, such as [redacted:token:1f0c9a3e], which is the same wherever the value
    occurs in a recording. Some values are masked in the file itself. All other values are in the
    file, and only the output of acp-proxy is masked. `export --level secrets` makes a copy in which
    all values are masked.

    Examples:
      acp-proxy secrets latest
          the masked values and their places
      acp-proxy secrets --check tests/recordings/*.jsonl
          for CI and pre-commit: fails if a file holds a secret
      acp-proxy secrets --json latest | jq -r .pointer | sort | uniq -c
          for a program: all places

    Exit code: 0; 1 if --check finds a secret in a file; 2 if a recording cannot be read.
    """
    if check and not recs:
        raise Refusal("--check needs the names of the recordings to check")
    has_secrets = unreadable = False
    for word in recs or ("latest",):
        try:
            has_secrets |= _show(word, check=check, as_json=json, with_name=len(recs) > 1)
        except (NoSuchRecording, UnreadableRecording) as e:  # the others are still checked
            warn(str(e))
            unreadable = True
    sys.exit(2 if unreadable else 1 if has_secrets and check else 0)


def _show(word: str, *, check: bool, as_json: bool, with_name: bool) -> bool:
    """Prints a recording's secrets, masked. Returns whether the file contains unmasked secrets."""
    with open_recording(word, level=Level()) as reader:
        values = list(masked_values(reader))
        path, is_private = reader.path, reader.recording.redaction == "private"
    count = len({value.marker for value in values if value.in_file})
    if as_json:
        for value in values:
            say_json({"path": str(path), **converter.unstructure(value)})
    elif not check:
        if with_name:
            say(str(path), bold=True)
        _say(values, is_private=is_private)
    if count and check:
        verb = "is" if count == 1 else "are"
        warn(
            f"{path} holds {counted(count, 'secret')} that {verb} not masked;"
            f" `acp-proxy export {_quoted(path)} -o FILE --level secrets` makes a masked"
            " copy"
        )
    return bool(count)


def _say(values: Sequence[MaskedValue], *, is_private: bool) -> None:
    """Prints a line for each masked value, with the places of the value."""
    by_marker: dict[str, list[MaskedValue]] = {}
    for value in values:
        by_marker.setdefault(value.marker, []).append(value)
    for marker, same in by_marker.items():
        where = "in the file itself" if same[0].in_file else "masked in the file"
        say(f"{marker}  {counted(len(same), 'place')}, {where}")
        for value in same[:EXAMPLES]:
            number = "" if value.seq is None else f"#{value.seq} "
            say(f"    {number}{value.place} {value.pointer or ''}".rstrip())
        if len(same) > EXAMPLES:
            say(f"    and {len(same) - EXAMPLES} more")
    say(_summary(by_marker) if by_marker else "no secret was found, and none is masked")
    if is_private:
        say("prompts, messages and contents of files are masked as well")


def _summary(by_marker: dict[str, list[MaskedValue]]) -> str:
    in_file = sum(values[0].in_file for values in by_marker.values())
    words = f"the file itself holds {in_file}" if in_file else "the file itself holds no secret"
    return f"{counted(len(by_marker), 'secret')}; {words}"


def _quoted(path: Path) -> str:
    return "-" if path is STDIN else shlex.quote(str(path))
