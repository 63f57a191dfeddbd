"""Jobs go to a worker as lines; real workers are tested in `integration/test_batches.py`."""

from __future__ import annotations

from acp_proxy.batches.job import Job
from acp_proxy.batches.job_server import job_of, line_of_job


def test_a_job_is_read_as_it_was_written() -> None:
    """Whatever its words are."""
    options, words = ("--ignore=/a\nb",), ("agent", "\ud800")
    job = Job("a.db", "/a.db", "verify", options, words, "d", "/n.db", True, 2, ("x.toml",))
    line = line_of_job(job)
    assert line.count(b"\n") == 1
    assert job_of(line) == job
