"""How many rules recordings break, for a list of them."""

import time
from pathlib import Path

from acp_proxy.conformance.choice import chosen_rules
from acp_proxy.conformance.judgement import check_whole
from acp_proxy.conformance.report import reported
from acp_proxy.errors import UnreadableRecording
from acp_proxy.store.reader import RecordingReader


def counts_of(path: Path, *, unredacted: bool = False) -> dict[str, int] | None:
    """Counts what a check of a recording finds, by severity; None if it cannot be read.

    Args:
        path: of the recording.
        unredacted: whether secrets are read as they are in the file.
    """
    try:
        with RecordingReader(path, unredacted=unredacted) as reader:
            found = check_whole(reader, now_ns=time.monotonic_ns())
            return reported(reader, found, chosen_rules((), ())).counts
    except UnreadableRecording:
        return None
