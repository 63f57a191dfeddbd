"""Jobs go to a worker as lines; real workers are tested in `integration/test_batches.py`."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from acp_proxy.batches.job import Job
from acp_proxy.batches.job_server import job_of, line_of_job, serve
from acp_proxy.cli.batch_jobs import perform


def test_a_job_is_read_as_it_was_written() -> None:
    """Whatever its words are."""
    options, words = ("--ignore=/a\nb",), ("agent", "\ud800")
    job = Job("a.db", "/a.db", "verify", options, words, "d", "/n.db", True, 2, ("x.toml",))
    line = line_of_job(job)
    assert line.count(b"\n") == 1
    assert job_of(line) == job


def test_a_batch_may_end_before_its_server_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends as well, and has nothing to say."""
    ours, theirs = socket.socketpair()
    ours.close()
    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit, match=r"^0$"):
        serve(theirs.detach(), perform)
