"""Checks the recording of a test for failures and broken rules."""

import shlex
from collections.abc import Collection
from pathlib import Path

from acp_proxy.base.wording import visible
from acp_proxy.check.catalogue import chosen_rules
from acp_proxy.check.check_report import is_failing, reported, short_text
from acp_proxy.check.check_values import SEVERITIES
from acp_proxy.check.judgement import check_whole
from acp_proxy.store.reader import RecordingReader

_SEVERITIES = tuple(severity.value for severity in SEVERITIES)


def complaint_about(path: Path, fail_on: str, ignored: Collection[str]) -> str | None:
    """Returns a text about the findings that make a test fail; None if there are none.

    Args:
        path: the recording.
        fail_on: the lowest severity that counts: ``error``, ``warning`` or ``info``.
        ignored: rules and groups of rules that do not count.

    Raises:
        ValueError: there is no such severity.
        NoSuchRule: there is no such rule.
        UnreadableRecording: the recording cannot be read.
    """
    if fail_on not in _SEVERITIES:
        raise ValueError(f"expected fail_on to be one of {', '.join(_SEVERITIES)}, got {fail_on!r}")
    chosen = chosen_rules((), [ignored] if isinstance(ignored, str) else ignored)
    with RecordingReader(path) as reader:
        report = reported(reader, check_whole(reader), chosen)
    if not any(report.counts[level] and is_failing(level, fail_on) for level in SEVERITIES):
        return None
    title = f"acp check: {path.name} has findings"
    command = f"`acp-proxy check {shlex.quote(str(path))}` shows everything"
    return "\n".join(map(visible, [title, *short_text(report), command]))
