"""Finds the markers of a recording. Secrets that the file still contains are masked first."""

import re
from collections.abc import Iterable, Iterator, Set

from attrs import asdict, frozen

from acp_proxy.protocol.json_text import pointer
from acp_proxy.redaction.json_strings import Decoded, StringWalk, decoded_base64
from acp_proxy.redaction.markers import MARKER
from acp_proxy.store.queries.fired_faults import fired_faults
from acp_proxy.store.queries.frames import masked_frames
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import is_excerpt


@frozen
class MaskedValue:
    """A marker in a recording, and where it is."""

    seq: int | None
    """The number of the frame or event; None for a marker in the properties of the recording."""
    place: str
    """The name of the stream for a frame. Otherwise ``event``, ``fault`` or ``recording``."""
    pointer: str | None
    """The JSON pointer of the string, with ``*`` for items of lists; None for a text that is not
    JSON."""
    kind: str
    """The kind of the secret, such as ``token``."""
    marker: str
    in_file: bool
    """Whether the file contains the secret itself, and only the output contains the marker."""


def masked_values(reader: RecordingReader) -> Iterator[MaskedValue]:
    """Yields the markers of a recording, first the markers in its properties.

    Args:
        reader: the recording. Its secrets are masked while it is read.

    Raises:
        UnreadableRecording: the file is damaged.
    """
    made = set() if reader.masked_rows is None else reader.masked_rows.made
    for name, text in asdict(reader.recording).items():
        for match in MARKER.finditer(str(text)):
            yield _value(None, "recording", pointer((name,)), match, made)
    for event in reader.events():
        for where, match in _in_line((event["data"].encode(),), is_json=True):
            yield _value(event["seq"], "event", where, match, made)
    for row in masked_frames(reader):
        seq, stream = row["seq"], row["stream"]
        pieces = reader.pieces(seq) if is_excerpt(row) else (row["raw"],)
        for where, match in _in_line(pieces, is_json=stream != "stderr"):
            yield _value(seq, stream, where, match, made)
    for fired in fired_faults(reader):
        for name in ("received", "delivered"):
            for where, match in _in_line((fired[name] or b"",), is_json=True):
                yield _value(fired["seq"], "fault", where, match, made)


def _value(
    seq: int | None, place: str, where: str | None, match: re.Match[str], made: Set[str]
) -> MaskedValue:
    return MaskedValue(seq, place, where, match[1], match[0], match[0] in made)


def _in_line(
    pieces: Iterable[bytes], *, is_json: bool
) -> Iterator[tuple[str | None, re.Match[str]]]:
    """Yields the markers in a line, each with the JSON pointer of its string.

    The pointer is None if the line is not JSON.
    """
    line, walk = list(pieces), StringWalk()
    markers = []
    if is_json:
        for string in walk.strings(line):
            text, where = Decoded(string.raw).text, pointer(string.path)
            matches = [*MARKER.finditer(text)]
            if not matches and string.path[-1:] == ("data",):
                matches = [*MARKER.finditer(decoded_base64(text) or "")]
            markers += [(where, match) for match in matches]
    if is_json and walk.is_json:
        yield from markers
        return
    for match in MARKER.finditer(b"".join(line).decode(errors="replace")):
        yield None, match
