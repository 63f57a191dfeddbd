"""Baseline files: the findings of an earlier check, which later checks do not report again.

A finding is identified by its rule, the side that broke the rule, and a fingerprint of its text.
The fingerprint ignores ids, paths and numbers, so two runs of one scenario have equal fingerprints.
The file also contains how often each finding occurred.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from attrs import frozen

from acp_proxy.base.errors import BadBaseline
from acp_proxy.base.forms import converter
from acp_proxy.base.plain_files import reason
from acp_proxy.explain.findings import Finding
from acp_proxy.redaction.markers import MARKER

_FORMAT = 1
_PATH = re.compile(
    r'"(?:file:/|~?/|[A-Za-z]:[\\/]|\\\\)[^"]*"?'
    r'|(?<![\w*])(?!/(?:params|result|error)\b)(?:/|[A-Za-z]:\\)[^\s"]+'
)
"""Matches the path of a file, but not a JSON pointer."""
_ID = re.compile(r"(?<![\w.+:-])[\w.+:-]*\d[\w.+:-]*")  # only from a word's start: faster
_OPAQUE = re.compile(r'"[A-Za-z_.-]{16,}…?"?')
"""Matches a long quoted value without blanks or digits, which is usually an id."""
_MARKS = re.compile(r'["…]')

Key = tuple[str, str | None, str]
"""The rule, the side and the fingerprint of a finding."""


@frozen
class KnownFinding:
    """An entry of a baseline file: all findings with one rule, side and fingerprint."""

    rule: str
    by: str | None
    fingerprint: str
    count: int
    text: str
    """The text of a finding, without ids, paths and numbers, for people who read the file."""


@frozen
class _File:
    acp_proxy_baseline: int
    findings: list[KnownFinding]


class Baseline:
    """Counts down the known findings: each lookup of a finding uses up one known occurrence.

    Args:
        known: the findings that a baseline file lists.
    """

    def __init__(self, known: Iterable[KnownFinding] = ()) -> None:
        self.known = [*known]
        self._left: Counter[Key] = Counter()
        for finding in self.known:
            self._left[finding.rule, finding.by, finding.fingerprint] += finding.count

    def has(self, finding: Finding) -> bool:
        """Whether a finding is known. Each call uses up one occurrence of a known finding."""
        key = finding.rule, finding.by, fingerprint(finding)
        return self.use(key, 1, generic(finding.text)) == 1

    def use(self, key: Key, count: int, text: str = "") -> int:  # noqa: ARG002
        """Uses up known occurrences of a finding. Returns how many were used up.

        Args:
            key: rule, side and fingerprint of the finding.
            count: how often the finding has occurred.
            text: the text of one occurrence, without the parts that differ between runs.
        """
        used = min(count, self._left[key])
        self._left[key] -= used
        return used


class BaselineWriter(Baseline):
    """Treats every finding as known, and collects the findings for a new baseline file.

    Args:
        known: the findings that the old baseline file lists.
    """

    def __init__(self, known: Iterable[KnownFinding] = ()) -> None:
        super().__init__(known)
        self._counts: Counter[Key] = Counter()
        self._texts: dict[Key, str] = {}

    @property
    def count(self) -> int:
        """The number of findings that were collected."""
        return self._counts.total()

    def use(self, key: Key, count: int, text: str = "") -> int:
        """Collects occurrences of a finding. All occurrences count as known: returns `count`.

        Args:
            key: rule, side and fingerprint of the finding.
            count: how often the finding has occurred.
            text: the text of one occurrence, without the parts that differ between runs.
        """
        self._counts[key] += count
        self._texts.setdefault(key, text)
        return count

    def written(self, chosen: Collection[str]) -> str:
        """Returns the text of the new baseline file.

        Findings of unchecked rules are copied from the old baseline file.

        Args:
            chosen: the rules that were checked.
        """
        kept = [finding for finding in self.known if finding.rule not in chosen]
        new = [KnownFinding(*key, n, self._texts[key]) for key, n in self._counts.items() if n]
        every = [*kept, *new]
        every.sort(key=lambda f: (f.rule, f.by or "", f.text, f.count))
        return json.dumps(converter.unstructure(_File(_FORMAT, every)), indent=2) + "\n"


def read_baseline(path: Path) -> Baseline:
    """Reads a baseline file.

    Raises:
        BadBaseline: the file cannot be read, or is not a baseline.
    """
    try:
        document: Any = json.loads(path.read_text("utf-8"))
    except OSError as e:
        raise BadBaseline(path, reason(e)) from None
    except (ValueError, RecursionError):
        raise BadBaseline(path, "it is not JSON") from None
    version = document.get("acp_proxy_baseline") if isinstance(document, dict) else None
    if version != _FORMAT:
        got = "no such member" if version is None else repr(version)
        raise BadBaseline(path, f'expected "acp_proxy_baseline": {_FORMAT}, got {got}')
    try:
        return Baseline(converter.structure(document, _File).findings)
    except Exception:  # foreign values may cause any error
        expected = "rule, by, fingerprint, count and text"
        raise BadBaseline(path, f"expected findings with {expected}") from None


def fingerprint(finding: Finding) -> str:
    """Returns a hash of a finding without the ids, paths and numbers in its text."""
    parts = [finding.rule, finding.by or "", finding.method or "", generic(finding.text)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def generic(text: str) -> str:
    """Returns the text of a finding without ids, paths and numbers."""
    text = _PATH.sub("PATH", MARKER.sub("ID", text))
    return _MARKS.sub("", _ID.sub("ID", _OPAQUE.sub("ID", text)))
