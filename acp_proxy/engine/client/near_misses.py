"""Finds the differences between a request of the agent and recorded ones that are almost equal.

They are ordered for a reader: first what is done, or to what; ids and times last. A recorded
directory equals the live one that stands for it.
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
"""Names, in lower case and without underscores, of actions and of what they apply to."""
_NOISE = re.compile(
    r"_meta|cwd|description|timestamp|.*(call|turn|use|request|session)_?id|.*_at(_ms)?", re.I
)


def nearest(misses: Iterable[NearMiss]) -> tuple[NearMiss, ...]:
    """Returns the most similar ones: about the same thing first, then with fewest differences."""
    return tuple(sorted(misses, key=_distance)[:_MOST])


def differing(
    method: str | None, recorded: object, live: object, comparer: Comparer, rewritten: Rewritten
) -> tuple[Difference, ...]:
    """Returns the differences between two requests, the most important first.

    Args:
        method: their method.
        recorded: decoded.
        live: decoded.
        comparer: compares them.
        rewritten: replaces recorded directories in a text, as `Bindings.rewritten`.
    """
    places = places_of("request", method)
    plain = comparer.params(method, recorded, live, places)
    found = [*plain.differences, *plain.conflicts]
    try:
        written = moved(recorded, rewritten)
        now = comparer.after_rewriting.params(method, written, live, places)
    except RecursionError:
        return tuple(found)
    paths = [parts_of(one.pointer) for one in found]
    shown = [
        one
        for one in (*now.differences, *now.conflicts)
        if any(_are_related(parts_of(one.pointer), path) for path in paths)
    ]
    return tuple(sorted(shown, key=_weight))


def _are_related(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether one of two places is the other, or within it."""
    shorter = min(len(a), len(b))
    return a[:shorter] == b[:shorter]


def _distance(miss: NearMiss) -> tuple[int, int, int]:
    weights = [*map(_weight, miss.differences)]
    return weights.count(0), weights.count(1), miss.seq


def _weight(difference: Difference) -> int:
    """How important it is, by its place and by what contains it; 0 is most."""
    weights = [*map(_weight_of_name, parts_of(difference.pointer))]
    return 2 if weights[-1] == 2 else min(weights)


def _weight_of_name(name: str) -> int:
    """How important a member is: 0 for what is done, 2 for noise, 1 for the rest."""
    if name.lower().replace("_", "") in _DOING:
        return 0
    return 2 if _NOISE.fullmatch(name) else 1
