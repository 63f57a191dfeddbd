"""Checks a recording when it ends, for ``record --check``, within a time limit."""

import shlex
import time
from importlib import import_module
from pathlib import Path
from threading import Thread

import trio

from acp_proxy.record.capture.stdio import unchecked, warn
from acp_proxy.recording.file_names import LOG_SUFFIX


async def prepare() -> None:
    """Loads the rules and the types of protocol version 1 while the agent boots.

    The check of a short recording at its end then takes only milliseconds.
    """
    await trio.to_thread.run_sync(_load, abandon_on_cancel=True)


def _load() -> None:
    from acp_proxy.check.rules import load
    from acp_proxy.check.schema_check import DialectSchema
    from acp_proxy.protocol.dialects import V1

    import_module("acp_proxy.check.check_report")  # this imports all else that a check needs
    load()
    DialectSchema.of_dialect(V1).load()


def report_findings(path: Path, deadline: float) -> None:
    """Prints the broken rules to stderr, or that the recording could not be checked in time.

    Args:
        path: the path of the recording, which has ended.
        deadline: when to stop waiting, in seconds of the monotonic clock.
    """
    lines: list[str] = []
    if not Path(f"{path}{LOG_SUFFIX}").exists():  # a recording with a log is not indexed
        # In a separate thread, since a slow query cannot be cancelled. At the deadline the thread
        # is abandoned, because the process ends.
        checking = Thread(target=_check, args=(path, lines), daemon=True)
        checking.start()
        checking.join(max(0.0, deadline - time.monotonic()))
    for line in lines or [unchecked(str(path))]:
        warn(line)


def _check(path: Path, lines: list[str]) -> None:
    """Adds all lines of the report to a list at once. Adds no line if the check raises an error."""
    try:
        from acp_proxy.base.wording import visible
        from acp_proxy.check.catalogue import chosen_rules
        from acp_proxy.check.check_report import reported, short_text
        from acp_proxy.check.judgement import check_whole
        from acp_proxy.store.reader import RecordingReader

        with RecordingReader(path) as reader:
            report = short_text(reported(reader, check_whole(reader), chosen_rules((), ())))
        if len(report) > 1:
            report.append(f"`acp-proxy check {shlex.quote(str(path))}` shows everything")
        lines += map(visible, report)
    except Exception:  # `acp-proxy check` will report the error
        return
