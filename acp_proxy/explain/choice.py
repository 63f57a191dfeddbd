"""Chooses the frames and events that a command shows: by filter, turn, session or number."""

import heapq
import operator
from collections.abc import Iterable, Iterator
from itertools import islice

from acp_proxy.base.errors import BadFilter, UnreadableRecording
from acp_proxy.base.limits import EXAMPLES, LAST_NUMBER
from acp_proxy.base.wording import counted, listed, nearest, visible
from acp_proxy.explain.log.timeline import pair_of
from acp_proxy.recording.filters import EVERYTHING, TERMS, Filter, Known, all_of, parse, tokens_of
from acp_proxy.recording.filters.filter_terms import none_of
from acp_proxy.recording.filters.filter_terms import of_session as session_filter
from acp_proxy.recording.recording import LABELS
from acp_proxy.store.queries.exchanges import last_turn, requested_sessions, turn_count, turn_of
from acp_proxy.store.queries.frames import labels_of, last_number
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row

_MOST_COUNTED = 200_000
"""A similar filter is searched for only in recordings with at most this many frames."""
_AT_A_TIME = 100
"""The number of frames that one query reads."""


def chosen_in(reader: RecordingReader, text: str) -> Filter:
    """Parses a filter for one recording. A name that the recording has is matched exactly.

    Args:
        reader: the recording.
        text: the filter, which may contain ``turn:last``.

    Raises:
        BadFilter: the text is not a filter.
    """
    return parse(text, _known(reader))


def why_nothing(reader: RecordingReader, text: str) -> str:
    """Returns the error message for a filter without a match; it may suggest a similar filter.

    Args:
        reader: the recording.
        text: the filter. Nothing in the recording matches it.
    """
    total = reader.count()
    try:
        hint = next(_hints(reader, tokens_of(text), total), "")
    except UnreadableRecording:  # part of the filter needs the text of a line that is not stored
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
            # The timeline shows the kind of an update in place of its method.
            update = f"params.update.sessionUpdate={value}"
            is_word = key == "method" and value.isidentifier()
            if is_word and total <= _MOST_COUNTED and _count(reader, [update]):
                yield f"; did you mean {update}?"
        elif key == "turn" and value.isdecimal() and int(value) > last_turn(reader):
            yield f"; the recording has {counted(last_turn(reader), 'turn')}"
        elif not colon and total <= _MOST_COUNTED:
            terms = (t for word in (token, token.removesuffix("s")) for t in _terms_with(word))
            yield from (f"; did you mean {term}?" for term in terms if _count(reader, [term]))
    if total <= _MOST_COUNTED and len(tokens) > 1 and not {"or", "not", "(", ")"} & {*tokens}:
        counts = [(_count(reader, tokens[:n] + tokens[n + 1 :]), n) for n in range(len(tokens))]
        most, place = max(counts, key=lambda counted: (counted[0], -counted[1]))
        if most:
            rest = " ".join(tokens[:place] + tokens[place + 1 :])
            verb = "matches" if most == 1 else "match"
            yield f"; {counted(most, 'frame')} {verb} {visible(rest)}"


def _terms_with(word: str) -> list[str]:
    # Values of `is:` are left out: they are also kinds, or can be typed without the key.
    return [f"{key}:{word}" for key, term in TERMS.items() if word in term.values and key != "is"]


def _count(reader: RecordingReader, tokens: list[str]) -> int:
    chosen = parse(" ".join(tokens), _known(reader))
    return sum(1 for _ in reader.heads(chosen))


def rows_around(reader: RecordingReader, seq: int, context: int, chosen: Filter) -> Iterator[Row]:
    """Returns a frame or event, and the rows near it that match a filter.

    If the frame belongs to an exchange, the exchange's other frame is returned, too.

    Args:
        reader: the recording.
        seq: the number of the frame or event.
        context: a row is near if its number differs from ``seq`` by at most this number.
        chosen: the filter.

    Raises:
        BadFilter: no frame or event has that number.
    """
    first, last, pair = max(1, seq - context), seq + context, pair_of(row_of(reader, seq))
    both = [_number(number) for number in (seq, pair) if number is not None]
    others = all_of([chosen, parse(f"seq:{first}..{last}"), *map(none_of, both)])
    parts = [reader.rows(others, first - 1), *map(reader.rows, both)]
    return heapq.merge(*parts, key=operator.itemgetter("seq"))


def row_of(reader: RecordingReader, seq: int) -> Row:
    """Reads one frame or event.

    Args:
        reader: the recording.
        seq: the number of the frame or event.

    Raises:
        BadFilter: no frame or event has that number.
    """
    row = next(reader.rows(_number(seq)), None)
    if row is None:
        last = last_number(reader)
        raise BadFilter(f"no frame or event {seq} in {reader.path}; the last one is {last}")
    return row


def frames_numbered(
    reader: RecordingReader, seqs: Iterable[int], chosen: Filter = EVERYTHING
) -> Iterator[Row]:
    """Yields the frames with given numbers, in order, if they match a filter.

    Args:
        reader: the recording.
        seqs: the numbers of the frames, in ascending order.
        chosen: the filter.
    """
    numbers = iter(seqs)
    while some := " or ".join(f"seq:{seq}" for seq in islice(numbers, _AT_A_TIME)):
        yield from reader.frames(all_of([chosen, parse(some)]))


def of_turn(reader: RecordingReader, turn: int) -> Filter:
    """Returns a filter for the frames of a turn, and for the lines of stderr during the turn.

    A line of stderr during two concurrent turns belongs to both turns.

    Args:
        reader: the recording.
        turn: the number of the turn.

    Raises:
        BadFilter: no turn has this number, and the recording has ended.
    """
    span = turn_of(reader, min(turn, LAST_NUMBER))
    if span is None and not reader.live:
        raise BadFilter(f"no turn {turn} in {reader.path}; number of turns: {turn_count(reader)}")
    if span is None:
        return parse(f"turn:{turn}")
    end = LAST_NUMBER if span.end_seq is None else span.end_seq
    return parse(f"turn:{turn} or kind:stderr seq:{span.prompt_seq}..{end}")


def of_session(reader: RecordingReader, start: str) -> Filter:
    """Returns a filter for the only session whose id begins with a text.

    Args:
        reader: the recording.
        start: the text.

    Raises:
        BadFilter: no id begins with the text, or several ids do.
    """
    known = requested_sessions(reader)
    matching = _matching(known, start)
    if not matching:  # no request may name the session
        known = known + [s for s in labels_of(reader, "session") if s not in known]
        matching = _matching(known, start)
    if len(matching) != 1:
        ids_begin = f"{len(matching)} session ids begin" if matching else "no session id begins"
        raise BadFilter(f"{ids_begin} with {start!r} in {reader.path}; {_named(matching or known)}")
    (session,) = matching
    return session_filter(session)


def _number(seq: int) -> Filter:
    return parse(f"seq:{min(seq, LAST_NUMBER)}")


def _matching(known: list[str], start: str) -> list[str]:
    return [start] if start in known else [s for s in known if s.startswith(start)]


def _named(sessions: list[str]) -> str:
    if not sessions:
        return "it has no sessions"
    return f"expected one of {visible(listed(sessions, EXAMPLES))}"
