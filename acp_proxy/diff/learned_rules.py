"""Derives rules from the differences of two recordings, so that the recordings become equal."""

import re
from collections.abc import Iterator
from typing import Any

from attrs import evolve, frozen

from acp_proxy.diff.diff import diff
from acp_proxy.diff.diff_result import Change, Counts, Diff, DiffEntry, DiffOptions, Field
from acp_proxy.diff.frame_types import NO_ANSWER, NO_MESSAGE
from acp_proxy.diff.sequence_reading import UNWATCHED, Watch
from acp_proxy.store.reader import RecordingReader

_ROUNDS = 8
"""The largest number of rounds. Each round adds rules, and compares the recordings again."""
_ITEM = re.compile(r"(?<=/)\d+(?=/|$)")
_NAMED = re.compile(r"(?<=/)[^/]*«[^/]*")


@frozen
class Learned:
    """The rules that are proposed in addition to the given rules.

    Attributes:
        ignored: JSON pointers of values to leave out.
        aliases: JSON pointers of values that get stable names.
        apart: kinds of messages whose position is ignored.
        rest: how many differences of each kind remain with these rules.
    """

    ignored: tuple[str, ...]
    aliases: tuple[str, ...]
    apart: tuple[str, ...]
    rest: Counts


def learn(
    a: RecordingReader,
    b: RecordingReader,
    options: DiffOptions | None = None,
    watch: Watch = UNWATCHED,
) -> Learned:
    """Proposes rules that make two recordings equal.

    Stable names are proposed first, because they hide less than ignored places.

    Args:
        a: one recording, A.
        b: the other recording, B.
        options: the options of the comparison, with the given rules.
        watch: a function that shows the progress of each round.

    Raises:
        UnreadableRecording: a recording is damaged.
    """
    given = options or DiffOptions()
    tried = given
    result = diff(a, b, tried, watch)
    for _ in range(_ROUNDS):
        places = places_of(result)
        aliases = [p for p, pairs in places.items() if p not in tried.aliases and are_names(pairs)]
        ignored = [p for p in places if p not in tried.ignored] if not aliases else []
        moved = [] if aliases or ignored else _moved(result)
        apart = [kind for kind in moved if kind not in tried.apart]
        if not aliases and not ignored and not apart:
            break
        tried = evolve(
            tried,
            aliases=(*tried.aliases, *aliases),
            ignored=(*tried.ignored, *ignored),
            apart=(*tried.apart, *apart),
        )
        result = diff(a, b, tried, watch)
    still = _moved(result)
    return Learned(
        ignored=tried.ignored[len(given.ignored) :],
        aliases=tuple(
            pointer
            for pointer in tried.aliases[len(given.aliases) :]
            if pointer not in tried.ignored
        ),
        apart=tuple(kind for kind in tried.apart[len(given.apart) :] if kind not in still),
        rest=result.counts,
    )


def place_of(field: Field) -> str:
    """Returns the pointer of a field, with ``*`` for list items and for keys with stable names."""
    return _ITEM.sub("*", _NAMED.sub("*", field.pointer))


def can_be_ignored(field: Field) -> bool:
    """Whether a rule may ignore a place. The place must be within a member of the message."""
    return field.pointer.count("/") > 1


def kind_of(entry: DiffEntry) -> str | None:
    """Returns the kind of a moved item for `DiffOptions.apart`; None for any other item."""
    if entry.change is not Change.MOVED or entry.title in (NO_ANSWER, NO_MESSAGE):
        return None
    return entry.title.removeprefix("session/update ").removeprefix("the answer to ")


def _moved(result: Diff) -> list[str]:
    """Returns the kinds of the moved items."""
    kinds = map(kind_of, result.entries())
    return list(dict.fromkeys(kind for kind in kinds if kind is not None))


def places_of(result: Diff) -> dict[str, list[Field]]:
    """Returns the differing places that a rule may ignore, by pointer; see `place_of`."""
    places: dict[str, list[Field]] = {}
    for field in _fields(result):
        if can_be_ignored(field):
            places.setdefault(place_of(field), []).append(field)
    return places


def _fields(result: Diff) -> Iterator[Field]:
    yield from result.handshake
    for entry in result.entries():
        yield from entry.fields


def are_names(pairs: list[Field]) -> bool:
    """Whether the values of A and B correspond one to one, and look generated."""
    there: dict[Any, Any] = {}
    back: dict[Any, Any] = {}
    for pair in pairs:
        if pair.only or not (_is_name(pair.a) and _is_name(pair.b)):
            return False
        if there.setdefault(pair.a, pair.b) != pair.b or back.setdefault(pair.b, pair.a) != pair.a:
            return False
    return True


def _is_name(value: Any) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return value > 999
    if not isinstance(value, str) or " " in value or "«" in value:
        return False
    return len(value) >= 6 and any(character.isdigit() for character in value)
