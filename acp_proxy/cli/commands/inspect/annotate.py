"""``acp-proxy inspect note`` and ``rename``: a note in a recording, and another name for it."""

import click

from acp_proxy.cli.group import Refusal, recordings
from acp_proxy.cli.options import recording_argument, recording_name
from acp_proxy.cli.recordings import find_recording
from acp_proxy.cli.redaction import is_unredacted, unredacted_option, without_secrets
from acp_proxy.cli.render.output import say, warn
from acp_proxy.store import annotations
from acp_proxy.store.reader import RecordingReader


@click.command(
    short_help="Write a note into a recording, or read it.",
    epilog="""\b
    Examples:
      acp-proxy inspect note latest 'hangs after the second permission'
          is shown by `inspect list`, and keeps the recording from being pruned
      acp-proxy inspect note latest
          prints the note
      acp-proxy inspect note latest --clear
          removes it
    """,
)
@recording_argument
@click.argument("text", required=False)
@click.option("--clear", is_flag=True, help="Remove the note.")
@unredacted_option
def note(rec: str, text: str | None, clear: bool) -> None:
    """Write a note into a recording; without TEXT, print the one that is there.

    A note is stored in the recording itself and goes where it goes. It may be written while the
    recorder runs. A recording that has a note is not pruned. Secrets in TEXT are masked, unless
    --unredacted is given.
    """
    path = find_recording(rec)
    if text is not None and clear:
        raise Refusal("expected TEXT or --clear, got both")
    if text is not None and not text.strip():
        raise Refusal("expected a text for the note, got none; --clear removes a note")
    if text is not None and text.encode(errors="replace").decode() != text:
        raise Refusal(f"expected a note in UTF-8, got {text[:60]!r}")
    if text is not None or clear:
        masked = None if text is None else without_secrets(text)
        if masked != text:
            warn("the note had a secret in it, which is masked; --unredacted keeps it")
        annotations.set_note(path, masked)
        return
    with RecordingReader(path, unredacted=is_unredacted()) as reader:
        words = reader.recording.note
    if words:
        for line in words.split("\n"):
            say(line)
    else:
        warn(f"{path} has no note")


@click.command(
    short_help="Give a recording another name.",
    epilog="""\b
    Examples:
      acp-proxy inspect rename latest login-hangs
          from now on it is `login-hangs`, and its file login-hangs.db
      acp-proxy inspect rename 3fa9 login-hangs --keep-file
          only the name in it; the file stays as it is called
    """,
)
@recording_argument
@click.argument("name", callback=recording_name)
@click.option("--keep-file", is_flag=True, help="Do not rename the file.")
def rename(rec: str, name: str, keep_file: bool) -> None:
    """Give a recording another name.

    The file of a recording in the recordings directory is renamed as well, so that the name finds
    it; nothing is ever replaced. While the recorder runs, and elsewhere, the file stays.
    """
    path = find_recording(rec)
    with RecordingReader(path, unredacted=True) as reader:
        before, live = reader.recording.name, reader.live
    at_home = path.absolute().parent == recordings()
    moved = annotations.rename(path, name, moves=at_home and not live and not keep_file)
    say(f"{before} is now {name}: {moved}")
    if live and not keep_file:
        warn(f"{path} stays while its recorder runs")
