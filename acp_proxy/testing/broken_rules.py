"""Checks the recording of a test for broken rules of the protocol."""

import shlex
from collections.abc import Collection
from pathlib import Path

from acp_proxy.conformance.choice import chosen_rules
from acp_proxy.conformance.judgement import judge
from acp_proxy.conformance.report import CheckReport, reported
from acp_proxy.conformance.short_text import short_text
from acp_proxy.conformance.values import SEVERITIES
from acp_proxy.safe_text import visible
from acp_proxy.store.reader import RecordingReader

_SEVERITIES = tuple(severity.value for severity in SEVERITIES)


def complaint_about(path: Path, fail_on: str, ignored: Collection[str]) -> str | None:
    """Returns which rules a recording breaks, as text; None if none of them counts.

    Args:
        path: the recording.
        fail_on: the least severity that counts: ``error``, ``warning`` or ``info``.
        ignored: rules, and groups of rules, that do not count.

    Raises:
        ValueError: there is no such severity.
        NoSuchRule: there is no such rule.
        UnreadableRecording: the recording cannot be read.
    """
    if fail_on not in _SEVERITIES:
        raise ValueError(f"expected fail_on to be one of {', '.join(_SEVERITIES)}, got {fail_on!r}")
    chosen = chosen_rules((), [ignored] if isinstance(ignored, str) else ignored)
    report = CheckReport(fail_on)
    with RecordingReader(path) as reader:
        found = reported(reader, judge(reader), chosen)
    report.add(found)
    if not report.exit:
        return None
    title = f"acp check: {path.name} breaks rules of the protocol"
    command = f"`acp-proxy check {shlex.quote(str(path))}` has all of it"
    return "\n".join(map(visible, [title, *short_text(found), command]))
