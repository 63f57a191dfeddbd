"""``acp-proxy search``: find a text in recordings."""

import heapq
import json
import re
import shlex
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, nullcontext
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path

import click

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.base.wording import counted
from acp_proxy.cli.explain.search_screen import MatchPrinter, printer_for
from acp_proxy.cli.explain.time_limit import END, TimeLimit
from acp_proxy.cli.group import Refusal, cli_command, recordings
from acp_proxy.cli.masking import is_unredacted
from acp_proxy.cli.opening import find_recording, note_masked
from acp_proxy.cli.options import complete_filter, complete_source, number_option, printing
from acp_proxy.cli.screens.output import progress, say, stdout_screen, warn
from acp_proxy.explain.choice import chosen_in
from acp_proxy.explain.describe.event_texts import describe_event
from acp_proxy.explain.search.search import Searcher
from acp_proxy.explain.search.search_patterns import Pattern
from acp_proxy.explain.search.stream_matches import SearchHit
from acp_proxy.recording.filters import UNREAD, Filter, parse
from acp_proxy.recording.recording import StoredFrame
from acp_proxy.store.files.directory import paths, started_at
from acp_proxy.store.reader import RecordingReader

_FOUND, _NOT_FOUND, _TROUBLE = 0, 1, 2
_HitsOf = Callable[[RecordingReader], Generator[SearchHit, None, None]]


@cli_command()
@click.argument("pattern")
@click.argument("where", metavar="[REC|DIR]...", nargs=-1, shell_complete=complete_source)
@click.option("-e", "--regex", is_flag=True, help="PATTERN is a Python regular expression.")
@click.option("-i", "--ignore-case", is_flag=True, help="Always ignore case.")
@click.option("-s", "--case-sensitive", is_flag=True, help="Always match case.")
@click.option("-w", "--filter", default="", metavar="FILTER", shell_complete=complete_filter,
              help="Search only these frames.")  # fmt: skip
@click.option("-c", "--count", is_flag=True, help="Print only how many frames match.")
@click.option("-l", "--files-with-matches", is_flag=True, help="Print only names of recordings.")
@number_option("-m", "--max-count", text="Print at most N matches in each recording.")
@click.option("--json", is_flag=True, help="Print one JSON object per match.")
@printing
def search(
    pattern: str,
    where: tuple[str, ...],
    regex: bool,
    ignore_case: bool,
    case_sensitive: bool,
    filter: str,  # noqa: A002  the option's name, and its variable's
    count: bool,
    files_with_matches: bool,
    max_count: int | None,
    json: bool,
) -> None:
    """Find a text in recordings, as grep does.

    PATTERN is searched for in the lines as they were sent, in their decoded strings, in messages
    that were streamed in chunks, in stderr, and in events. Names of members, methods and types are
    searched only if PATTERN looks like a name: if it has a quote, a slash, an underscore or a
    capital letter after a small one. Case matters only if PATTERN has a capital letter. REC is a
    recording, DIR a directory of recordings; without either, the recordings directory is searched,
    the newest recording first.

    Each frame with a match has a line: its number, the seconds since the start, the direction, the
    method, and the match with the text around it. A match that spans several chunks is listed at
    the first chunk.

    Examples:
      acp-proxy search 'permission denied'
          in all recordings, newest first, ignoring case
      acp-proxy search -e 'exit (code|status) [1-9]' latest
          a regular expression in the newest recording
      acp-proxy search -w 'dir:to-client turn:2' TODO hello.db
          only messages of the agent in the second turn
      acp-proxy search -l 'rate limit' ~/recordings
          the recordings that contain it
      acp-proxy search --json -m 1 Traceback | jq .path
          the first match of each recording, for a program

    Exit code: 0 if there is a match, 1 if there is none, 2 if a recording could not be read or
    the pattern is invalid.
    """
    if ignore_case and case_sensitive:
        raise Refusal("expected --ignore-case or --case-sensitive, got both")
    if json + count + files_with_matches > 1:
        raise Refusal("expected one of --json, --count and --files-with-matches, got several")
    case = True if ignore_case else False if case_sensitive else None
    sought = Pattern(pattern, is_regex=regex, ignore_case=case)
    parse(filter, UNREAD)
    places = list(_places(where))
    printer = printer_for(places, where, as_json=json, count=count, names=files_with_matches)
    limit = 1 if files_with_matches else max_count
    time_limit = TimeLimit()
    with time_limit.running() if regex else nullcontext():

        def hits_of(reader: RecordingReader) -> Generator[SearchHit, None, None]:
            searcher = Searcher(sought, with_pointers=json)
            return _hits(reader, searcher, chosen_in(reader, filter), time_limit, bool(filter))

        code, frames, counts = _search(places, hits_of, limit, printer)
    if stdout_screen().columns is None or json or count or files_with_matches:
        sys.exit(code)
    if any(counts):
        hits = f"{counted(sum(counts), 'hit')}{' shown' * (max_count is not None)}"
        some = f"{sum(map(bool, counts)):,} of " if 0 in counts else ""
        say()
        say(f"{hits} in {some}{counted(len(counts), 'recording')}", dim=True)
    elif code == _NOT_FOUND:
        place = ", ".join(where) or recordings()
        searched = f"{counted(frames, 'frame')} in {counted(len(places), 'recording')} ({place})"
        warn(f"0 of {searched} match {pattern!r}{f' and {filter}' if filter else ''}")
        if re.fullmatch(r"\w+", pattern):
            quoted = shlex.quote(f'"{pattern}"')
            warn("to find names of methods and members, too, put the whole name in double quotes:"
                 f" {quoted}")  # fmt: skip
    sys.exit(code)


def _search(
    places: list[Path], hits_of: _HitsOf, limit: int | None, printer: MatchPrinter
) -> tuple[int, int, list[int]]:
    """Searches the recordings and prints the matches.

    Returns:
        The exit code, the number of frames in all readable recordings, and the number of printed
        matches in each of these recordings.
    """
    unreadable, counts = False, list[int]()
    masked = frames = 0
    for path in places:
        try:
            with RecordingReader(path, unredacted=is_unredacted()) as reader:
                frames += reader.count()
                masked += len(reader.masked_rows.made) if reader.masked_rows is not None else 0
                with closing(hits_of(reader)) as hits:
                    counts.append(printer.print_all(path, reader, islice(hits, limit)))
        except UnreadableRecording as e:
            warn(str(e))
            unreadable = True
    note_masked(masked, "in the searched recordings")
    code = _TROUBLE if unreadable else _FOUND if any(counts) else _NOT_FOUND
    return code, frames, counts


def _places(words: tuple[str, ...]) -> Iterator[Path]:
    """Yields the recordings to search, each once."""
    if not words and not recordings().is_dir():
        return
    known = set()
    for word in words or (str(recordings()),):
        directory = Path(word)
        if directory.is_dir():
            every = sorted(paths(directory), key=started_at, reverse=True)
        else:
            every = [find_recording(word)]
        for path in every:
            if path.absolute() not in known:
                known.add(path.absolute())
                yield path


def _hits(
    reader: RecordingReader, searcher: Searcher, chosen: Filter, limit: TimeLimit, with_ends: bool
) -> Generator[SearchHit, None, None]:
    """Searches the frames and events of a recording in order.

    Args:
        reader: the recording.
        searcher: the searcher.
        chosen: the frames and events to search.
        limit: the limit of the time for each frame or event.
        with_ends: whether to search the texts of the events that end a stream. acp-proxy itself
            writes these texts.
    """
    total = reader.count() if sys.stderr.isatty() else None
    frames = progress(reader.heads(chosen, with_lines=True), total, reader.path.stem)
    events = (event for event in _events(reader, chosen) if with_ends or event.kind != "eof")
    for place in heapq.merge(events, frames, key=attrgetter("seq")):
        with limit.at(place.seq):
            if place.stream == "event":
                matches = searcher.feed_text(place, _text(place))
            elif place.raw is None:
                matches = searcher.feed_large(place, partial(_pieces, reader, place.seq, limit))
            else:
                matches = searcher.feed(place)
        yield from matches
    with limit.at(END):
        matches = searcher.finish()
    yield from matches


def _pieces(reader: RecordingReader, seq: int, limit: TimeLimit) -> Iterator[bytes]:
    return limit.counted(reader.pieces(seq))


def _events(reader: RecordingReader, chosen: Filter) -> Iterator[StoredFrame]:
    for row in reader.events(chosen):
        data = row["data"].encode(errors="replace")
        words = row["seq"], row["t_ns"], "event", row["kind"]
        yield StoredFrame(*words, None, None, None, None, None, None, len(data), data)


def _text(event: StoredFrame) -> str:
    """Returns the text that the timeline shows for an event."""
    return f"{event.kind} {describe_event(event.kind, json.loads(event.raw or b'{}'))}"
