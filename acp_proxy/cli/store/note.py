"""``acp-proxy note``: a user's notes in a recording."""

import click

from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.masking import is_unredacted, unredacted_option, without_secrets
from acp_proxy.cli.opening import find_recording
from acp_proxy.cli.options import recording_argument
from acp_proxy.cli.screens.output import say, warn
from acp_proxy.explain.choice import row_of
from acp_proxy.recording.notes import WHOLE, read_notes
from acp_proxy.store.files.annotations import set_note
from acp_proxy.store.reader import RecordingReader


@cli_command()
@recording_argument
@click.argument("text", required=False)
@click.option(
    "--clear", is_flag=True, help="Remove the notes, or only the note at TEXT, such as '#42'."
)
@unredacted_option
def note(rec: str, text: str | None, clear: bool) -> None:
    """Write a note into a recording; without TEXT, print the notes of the recording.

    If TEXT begins with the number of a frame or event, such as #42, the note is stored at this
    frame or event. It replaces the old note at the same place.

    Notes are stored in the recording itself, even while the recorder runs. `prune` keeps recordings
    with notes. Secrets in TEXT are masked, unless --unredacted is given.

    Examples:
      acp-proxy note latest 'hangs after the second permission'
          `list` shows the note, and `prune` keeps the recording
      acp-proxy note latest '#42 asks for the file that it has just read'
          a note at frame 42, which `log`, `transcript` and `report` show there
      acp-proxy note latest
          prints all notes
      acp-proxy note latest '#42' --clear
          removes the note at 42; without '#42', all notes
    """
    path = find_recording(rec)
    given = {} if text is None else read_notes(text)
    if clear and any(given.values()):
        raise Refusal("expected TEXT or --clear, got both")
    if not clear and not all(given.values()):
        raise Refusal("expected a text for the note, got none; --clear removes a note")
    if text is not None and text.encode(errors="replace").decode() != text:
        raise Refusal(f"expected a note in UTF-8, got {text[:60]!r}")
    if text is not None or clear:
        if rows := [] if clear else [place for place in given if place != WHOLE]:
            with RecordingReader(path, unredacted=True) as reader:
                for seq in rows:
                    row_of(reader, seq)  # raises an error if it does not exist
        masked = None if text is None else without_secrets(text)
        if masked != text:
            warn("a secret in the note is masked; --unredacted keeps the secret")
        set_note(path, masked)
        return
    with RecordingReader(path, unredacted=is_unredacted()) as reader:
        words = reader.recording.note
    if words:
        for line in words.split("\n"):
            say(line)
    else:
        warn(f"{path} has no note")
