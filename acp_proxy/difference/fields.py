"""Where two JSON values differ, as JSON pointers; what is equal is never looked into twice."""

from collections.abc import Hashable, Iterator
from itertools import pairwise
from typing import Any

from acp_proxy.difference.alignment import Pair, align
from acp_proxy.difference.forms import canonical, unmarked
from acp_proxy.difference.result import Field
from acp_proxy.protocol.json_pointers import pointer

Path = tuple[str, ...]
_NAMES = ("id", "name", "optionId", "modelId", "toolCallId", "terminalId", "path", "uri")


def fields(a: Any, b: Any) -> Iterator[Field]:
    """Yields the places in which two values differ, each as deep as it can be told.

    Lists are aligned: an item that was put in front makes no others differ.

    Raises:
        RecursionError: they are nested too deeply.
    """
    for one in _fields(a, b, ()):
        yield Field(unmarked(one.pointer), unmarked(one.a), unmarked(one.b), one.only)


def _fields(a: Any, b: Any, path: Path) -> Iterator[Field]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            below = (*path, key)
            if key not in b:
                yield Field(pointer(below), a=a[key], only="a")
            elif key not in a:
                yield Field(pointer(below), b=b[key], only="b")
            else:
                yield from _fields(a[key], b[key], below)
    elif isinstance(a, list) and isinstance(b, list):
        yield from _items(a, b, path)
    elif canonical(a) != canonical(b):
        yield Field(pointer(path), a, b)


def _items(a: list[Any], b: list[Any], path: Path) -> Iterator[Field]:
    same = align([canonical(item) for item in a], [canonical(item) for item in b])
    for a_gap, b_gap in _gaps(same, range(len(a)), range(len(b))):
        named = align([_name(a[i], i) for i in a_gap], [_name(b[j], ~j) for j in b_gap])
        for i, j in named:
            yield from _fields(a[a_gap[i]], b[b_gap[j]], (*path, str(a_gap[i])))
        for a_rest, b_rest in _gaps(named, a_gap, b_gap):
            for i, j in zip(a_rest, b_rest, strict=False):
                yield from _fields(a[i], b[j], (*path, str(i)))
            for i in a_rest[len(b_rest) :]:
                yield Field(pointer((*path, str(i))), a=a[i], only="a")
            for j in b_rest[len(a_rest) :]:
                yield Field(pointer((*path, str(j))), b=b[j], only="b")


def _gaps(same: list[Pair], a: range, b: range) -> Iterator[tuple[range, range]]:
    """What lies between items that are the same."""
    for (a_left, b_left), (a_right, b_right) in pairwise([(-1, -1), *same, (len(a), len(b))]):
        yield a[a_left + 1 : a_right], b[b_left + 1 : b_right]


def _name(item: Any, otherwise: int) -> Hashable:
    """What an item in a list of several is known by, if it has a name."""
    if isinstance(item, dict):
        for key in _NAMES:
            if isinstance(item.get(key), str):
                return key, item[key]
    return otherwise
