"""Says in one line what became of a log, and what it does not have."""

from pathlib import Path

from acp_proxy.recording import LOST
from acp_proxy.store.log_import import ImportedLog, LineCounts
from acp_proxy.wording import counted


def import_summary(made: ImportedLog, path: Path) -> str:
    """Returns what was imported, with the number of lines of each kind.

    Args:
        made: what was made of the log.
        path: where it comes from.
    """
    origins = [one.origin for one in made.connections]
    words = {word for origin in origins for word in origin.lost}
    messages = sum(one.messages for one in made.connections)
    parts = [f"{path}: {made.source.title} with {counted(messages, 'message')}", _lines(made.lines)]
    if len(made.connections) > 1:
        parts.append(f"{len(made.connections)} connections, each a recording")
    if inferred := sum(origin.inferred_directions for origin in origins):
        parts.append(f"{counted(inferred, 'direction')} inferred")
    parts.append("not known: " + ", ".join(LOST[word] for word in LOST if word in words))
    parts += [f"skipped line {bad.first}: {bad.reason}" for bad in made.skipped]
    return "; ".join(parts)


_KINDS = {
    "messages": "of messages", "stderr": "of stderr", "remarks": "of other text",
    "brackets": "of brackets around messages", "blank": "blank", "skipped": "skipped",
}  # fmt: skip


def _lines(lines: LineCounts) -> str:
    found = [f"{n:,} {words}" for name, words in _KINDS.items() if (n := getattr(lines, name))]
    return f"{counted(lines.covered, 'line')}: {', '.join(found)}"
