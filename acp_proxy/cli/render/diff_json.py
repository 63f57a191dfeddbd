"""A comparison for a program: one JSON object on each line."""

from typing import Any

from attrs import asdict

from acp_proxy.cli.render.diff_output import Reporter
from acp_proxy.cli.render.output import Writer, encode_json
from acp_proxy.difference.learning import Learned
from acp_proxy.difference.result import Counts, Diff, DiffEntry


class JsonLines(Reporter):
    """Prints each part as soon as it is known."""

    def __init__(self) -> None:
        self._out = Writer()

    def begin(self, found: Diff) -> None:
        """Prints what was compared, and what the handshakes have not in common."""
        head = {
            "a": _members(found.a),
            "b": _members(found.b),
            "expect": found.expect,
            "is_equal": found.is_equal,
            "counts": _counts(found.counts),
            "aliases": found.aliases,
        }
        self._line("diff", head)
        for one in found.handshake:
            self._line("handshake", _members(one))

    def entry(self, entry: DiffEntry) -> None:
        """Prints an entry."""
        self._line("entry", {**_members(entry), "fields": [*map(_members, entry.fields)]})

    def end(self, found: Diff) -> None:
        """Prints how the ends differ, and how long answers took."""
        for one in found.ending:
            self._line("ending", _members(one))
        for latency in found.latency:
            self._line("latency", _members(latency))
        self._out.flush()

    def learned(self, found: Learned) -> None:
        """Prints proposed rules, and what remains with them."""
        members = {**_members(found), "rest": _counts(found.rest)}
        self._line("learned", {**members, "is_equal": not found.rest.total})
        self._out.flush()

    def _line(self, kind: str, members: dict[str, Any]) -> None:
        self._out.json(encode_json({"type": kind, **members}))


def _members(value: Any) -> dict[str, Any]:
    return asdict(value, recurse=False)


def _counts(counts: Counts) -> dict[str, int]:
    return {**_members(counts), "total": counts.total}
