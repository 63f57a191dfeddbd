"""Finds the lines that frames have in the text form of a recording."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from acp_proxy.plain_files import open_plain
from acp_proxy.store.reader import RecordingReader, is_text
from acp_proxy.text_form.reader import is_remark

_NUMBERS = (
    "SELECT seq FROM frames UNION ALL SELECT seq FROM events"
    " UNION ALL SELECT seq FROM faults_fired ORDER BY seq"
)


def text_lines(reader: RecordingReader, seqs: Collection[int]) -> dict[int, int]:
    """Returns the lines of frames and events, counted from 1.

    They are those of the file, if the recording was read from the text form, and else those that
    `inspect export` writes. A number that there is not has no line.

    Args:
        reader: the recording.
        seqs: the numbers of the frames and events.
    """
    wanted, found = set(seqs), dict[int, int]()
    if not wanted:
        return found
    for line, row in enumerate(reader.query(_NUMBERS), 2):  # the first one is the header
        seq = row["seq"]
        if seq in wanted:
            wanted.remove(seq)
            found[seq] = line
            if not wanted:
                break
    return _in_file(reader.path, found) if is_text(reader.path) else found


def _in_file(path: Path, found: dict[int, int]) -> dict[int, int]:
    """Counts the lines of a file that are blank or comments as well."""
    lines = sorted(found.values())
    places: dict[int, int] = {}
    counted = 0
    with suppress(OSError), open_plain(path) as file:
        for number, line in enumerate(file, 1):
            counted += not is_remark(line)
            while lines and lines[0] <= counted:
                places[lines.pop(0)] = number
            if not lines:
                break
    return {seq: places.get(line, line) for seq, line in found.items()}
