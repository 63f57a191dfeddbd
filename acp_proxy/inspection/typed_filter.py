"""A filter as a person types it: what it asks of the recording, and why nothing matches it."""

from collections.abc import Iterator

from acp_proxy.errors import UnreadableRecording
from acp_proxy.filters import TERMS, Filter, Known, parse, tokens_of
from acp_proxy.recording import LABELS
from acp_proxy.safe_text import visible
from acp_proxy.store.exchange_queries import last_turn
from acp_proxy.store.frame_queries import labels_of
from acp_proxy.store.reader import RecordingReader
from acp_proxy.wording import counted, nearest

_MOST_COUNTED = 200_000
"""Frames of the largest recording in which parts of a filter are tried."""


def chosen_in(reader: RecordingReader, text: str) -> Filter:
    """Parses a filter for one recording, of which it may ask for the last turn.

    Args:
        reader: the recording.
        text: the filter.

    Raises:
        BadFilter: the text is not a filter.
    """
    return parse(text, _known(reader))


def why_nothing(reader: RecordingReader, text: str) -> str:
    """Says of how many frames none matches a filter, and what similar filter would match some.

    Args:
        reader: the recording.
        text: the filter, which matches nothing there.
    """
    total = reader.count()
    try:
        hint = next(_hints(reader, tokens_of(text), total), "")
    except UnreadableRecording:  # a part of the filter asks for the text of a line that is not held
        hint = ""
    return f"0 of {counted(total, 'frame')} match {visible(text.strip())}{hint}"


def _known(reader: RecordingReader) -> Known:
    return Known(reader.has_label, last_turn(reader))


def _hints(reader: RecordingReader, tokens: list[str], total: int) -> Iterator[str]:
    for token in tokens:
        key, colon, value = token.partition(":")
        if colon and (column := LABELS.get(key)) is not None:
            near = nearest(value.strip('"*'), labels_of(reader, column))
            if near and not _count(reader, [token]):
                yield f"; did you mean {key}:{visible(near)}?"
            # In a timeline the kind of an update stands where others have their method.
            update = f"params.update.sessionUpdate={value}"
            is_word = key == "method" and value.isidentifier()
            if is_word and total <= _MOST_COUNTED and _count(reader, [update]):
                yield f"; did you mean {update}?"
        elif key == "turn" and value.isdecimal() and int(value) > last_turn(reader):
            yield f"; it has {counted(last_turn(reader), 'turn')}"
        elif not colon and total <= _MOST_COUNTED:
            terms = (
                term for word in (token, token.removesuffix("s")) for term in _terms_with(word)
            )
            yield from (f"; did you mean {term}?" for term in terms if _count(reader, [term]))
    if total <= _MOST_COUNTED and len(tokens) > 1 and not {"or", "not", "(", ")"} & {*tokens}:
        counts = [(_count(reader, tokens[:n] + tokens[n + 1 :]), n) for n in range(len(tokens))]
        most, place = max(counts, key=lambda counted: (counted[0], -counted[1]))
        if most:
            rest = " ".join(tokens[:place] + tokens[place + 1 :])
            verb = "matches" if most == 1 else "match"
            yield f"; {counted(most, 'frame')} {verb} {visible(rest)}"


def _terms_with(word: str) -> list[str]:
    # What `is:` accepts is a kind as well, or is understood without the key.
    return [f"{key}:{word}" for key, term in TERMS.items() if word in term.values and key != "is"]


def _count(reader: RecordingReader, tokens: list[str]) -> int:
    chosen = parse(" ".join(tokens), _known(reader))
    return sum(1 for _ in reader.heads(chosen))
