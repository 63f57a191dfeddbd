"""In what a request of the agent's differs from recorded ones that are almost the same.

For a person, who wants to see first what is done or what it is done to. What differs only by
the directories that stand for one another is no difference, and ids and times come last.
"""

import re
from collections.abc import Iterable

from acp_proxy.engine.client.permission_scope import Rewritten, moved
from acp_proxy.engine.shared.comparison import Comparer, Difference
from acp_proxy.engine.shared.divergence import NearMiss
from acp_proxy.protocol.json_pointers import parts_of
from acp_proxy.protocol.typed_places import places_of

_MOST = 3
# fmt: off
_DOING = frozenset({
    "kind",
    "command", "commands", "cmd", "argv", "args", "program", "executable", "script", "code",
    "sql", "query", "action", "operation", "path", "paths", "file", "files", "filename",
    "filepath", "filepaths", "abspath", "absolutepath", "notebookpath", "targetfile", "directory",
    "source", "destination", "src", "dst", "oldpath", "newpath", "movepath", "uri", "uris", "url",
    "urls", "tool", "toolname", "server", "servername",
})
# fmt: on
"""Names, in lower case and without underscores, of what does something or what it is done to."""
_NOISE = re.compile(
    r"_meta|cwd|description|timestamp|.*(call|turn|use|request|session)_?id|.*_at(_ms)?", re.I
)


def nearest(misses: Iterable[NearMiss]) -> tuple[NearMiss, ...]:
    """The few that are most alike: about the same thing first, then with the least differences."""
    return tuple(sorted(misses, key=_distance)[:_MOST])


def differing(
    method: str | None, recorded: object, live: object, comparer: Comparer, rewritten: Rewritten
) -> tuple[Difference, ...]:
    """The differences between two requests, the most telling first.

    Args:
        method: their method.
        recorded: decoded.
        live: decoded.
        comparer: compares them.
        rewritten: puts live directories into a text, as `Bindings.rewritten`.
    """
    places = places_of("request", method)
    plain = comparer.params(method, recorded, live, places)
    found = [*plain.differences, *plain.conflicts]
    try:
        written = moved(recorded, rewritten)
        now = comparer.after_rewriting.params(method, written, live, places)
    except RecursionError:
        return tuple(found)
    ways = [parts_of(one.pointer) for one in found]
    told = [
        one
        for one in (*now.differences, *now.conflicts)
        if any(_are_related(parts_of(one.pointer), way) for way in ways)
    ]
    return tuple(sorted(told, key=_weight))


def _are_related(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether one of two places is the other, or within it."""
    shorter = min(len(a), len(b))
    return a[:shorter] == b[:shorter]


def _distance(miss: NearMiss) -> tuple[int, int, int]:
    weights = [*map(_weight, miss.differences)]
    return weights.count(0), weights.count(1), miss.seq


def _weight(difference: Difference) -> int:
    """How telling it is: by its place, and by what that is within."""
    weights = [*map(_weight_of_name, parts_of(difference.pointer))]
    return 2 if weights[-1] == 2 else min(weights)


def _weight_of_name(name: str) -> int:
    """How much a member counts that differs: 0 for what is done, 2 for noise, 1 for the rest."""
    if name.lower().replace("_", "") in _DOING:
        return 0
    return 2 if _NOISE.fullmatch(name) else 1
