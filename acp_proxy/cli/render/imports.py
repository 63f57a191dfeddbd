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
    parts = [f"{path}: {made.source.title}; {_lines(made.lines)}"]
    if len(made.connections) > 1:
        parts.append(f"{len(made.connections)} connections, each a recording")
    if inferred := sum(origin.inferred_directions for origin in origins):
        parts.append(f"{counted(inferred, 'direction')} inferred")
    parts.append("not known: " + ", ".join(LOST[word] for word in LOST if word in words))
    parts += [f"skipped line {bad.first}: {bad.reason}" for bad in made.skipped]
    return "; ".join(parts)


def _lines(lines: LineCounts) -> str:
    kinds = ("messages", "stderr", "remarks", "blank", "skipped")
    found = [f"{count:,} {name}" for name in kinds if (count := getattr(lines, name))]
    return f"{counted(lines.covered, 'line')}: {', '.join(found)}"
