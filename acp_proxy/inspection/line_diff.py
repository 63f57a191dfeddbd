"""Compares two texts line by line, as a unified diff; texts of any size."""

import difflib
from collections.abc import Iterator, Sequence

_CONTEXT = 3
"""Lines shown around a change."""
_MOST_COMPARED = 2000
"""Lines that are compared; of more, all old ones are shown as removed and all new ones as added."""


def unified(old: str, new: str) -> Iterator[str]:
    """Yields the lines of a unified diff without the names of files; nothing if they are equal.

    Args:
        old: the text before.
        new: the text after.
    """
    before, after = old.splitlines(), new.splitlines()
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    if same == len(before) == len(after):
        return
    start = max(0, same - _CONTEXT)
    for group in _groups(before[start:], after[start:]):
        first, last = group[0], group[-1]
        yield (
            f"@@ -{_span(start + first[1], start + last[2])}"
            f" +{_span(start + first[3], start + last[4])} @@"
        )
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[start + old_from : start + old_to])
                continue
            yield from (f"-{line}" for line in before[start + old_from : start + old_to])
            yield from (f"+{line}" for line in after[start + new_from : start + new_to])


_Change = tuple[str, int, int, int, int]


def _groups(before: Sequence[str], after: Sequence[str]) -> Iterator[list[_Change]]:
    if max(len(before), len(after)) <= _MOST_COMPARED:
        matcher = difflib.SequenceMatcher(None, before, after)
        yield from matcher.get_grouped_opcodes(_CONTEXT)
        return
    start = 0
    while start < min(len(before), len(after), _CONTEXT) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old_end, new_end = len(before) - end, len(after) - end
    changed = [("equal", 0, start, 0, start)] if start else []
    changed.append(("replace", start, old_end, start, new_end))
    if shown := min(end, _CONTEXT):
        changed.append(("equal", old_end, old_end + shown, new_end, new_end + shown))
    yield changed


def _span(start: int, end: int) -> str:
    """A range of lines as unified diffs write it."""
    count = end - start
    if count == 1:
        return f"{start + 1}"
    return f"{start + 1 if count else start},{count}"
