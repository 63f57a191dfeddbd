"""``acp-proxy note``: a user's note in a recording."""

import click

from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.masking import is_unredacted, unredacted_option, without_secrets
from acp_proxy.cli.opening import find_recording
from acp_proxy.cli.options import recording_argument
from acp_proxy.cli.screens.output import say, warn
from acp_proxy.store.files.annotations import set_note
from acp_proxy.store.reader import RecordingReader


@cli_command(
    epilog="""\b
    Examples:
      acp-proxy note latest 'hangs after the second permission'
          `list` shows the note, and `prune` keeps the recording
      acp-proxy note latest
          prints the note
      acp-proxy note latest --clear
          removes it
    """,
)
@recording_argument
@click.argument("text", required=False)
@click.option("--clear", is_flag=True, help="Remove the note.")
@unredacted_option
def note(rec: str, text: str | None, clear: bool) -> None:
    """Write a note into a recording; without TEXT, print the note of the recording.

    The note is stored in the recording itself, even while the recorder runs. `prune` keeps
    recordings with a note. Secrets in TEXT are masked, unless --unredacted is given.
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
        set_note(path, masked)
        return
    with RecordingReader(path, unredacted=is_unredacted()) as reader:
        words = reader.recording.note
    if words:
        for line in words.split("\n"):
            say(line)
    else:
        warn(f"{path} has no note")
