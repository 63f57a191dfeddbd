"""Lists the recorders that are running, and what each waits for."""

import os
from collections.abc import Iterator
from pathlib import Path

from acp_proxy.capture.files import LOG_SUFFIX
from acp_proxy.doctor.context import DoctorContext, error, ok, warning
from acp_proxy.doctor.values import CheckResult
from acp_proxy.errors import UnreadableRecording
from acp_proxy.inspection.diagnosis.summary import summarize
from acp_proxy.inspection.findings import Severity
from acp_proxy.store.directory import paths
from acp_proxy.store.log_recovery import has_recorder
from acp_proxy.store.reader import RecordingReader

_MOST = 3
"""The most waits of one recording that are named in a result."""


def running(context: DoctorContext) -> Iterator[CheckResult]:
    """Yields a result for each running recorder that writes into the recordings directory.

    Args:
        context: the machine, and how acp-proxy is started on it.
    """
    found = False
    for path in paths(context.recordings):
        if not os.path.lexists(f"{path}{LOG_SUFFIX}") or not has_recorder(path):
            continue
        result = _running(context, path)
        if result is not None:
            found = True
            yield result
    if not found:
        yield ok("running", "no recorder is running")


def _running(context: DoctorContext, path: Path) -> CheckResult | None:
    """Returns a result that says what a recorder waits for, or None if it has ended meanwhile."""
    try:
        with RecordingReader(path, unredacted=context.unredacted) as reader:
            summary = summarize(reader, context.monotonic_ns)
    except UnreadableRecording as e:
        return error("running", str(e))
    if not summary.live:
        return None
    problems = [finding.text for finding in summary.findings if finding.severity is Severity.ERROR]
    if problems:
        more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
        show = context.command("inspect", "show", path)
        return warning("running", f"{path.stem}: {problems[0]}{more}", show)
    waits = "; ".join(wait.text for wait in summary.waiting[:_MOST])
    return ok("running", f"{path.stem}: {waits or 'nothing is open'}")
