"""A job of a batch travels with its files, and its verdict comes back with the new run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import evolve

from acp_proxy.batches.batch import Job
from acp_proxy.batches.results import JobVerdict, VerdictKind
from acp_proxy.batches.shipments import delivered, packed, reply_of, unpacked
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import LogWriter
from tests.support.shipped_recordings import DIRECTORY

HELLO = DIRECTORY / "hello.db"


def job(path: Path | str, **more: Any) -> Job:
    """Returns a job that checks a recording."""
    return evolve(Job("check", digest="digest", recording=str(path), path=str(path)), **more)


def verdict(**more: Any) -> JobVerdict:
    """Returns a clean verdict of a job."""
    return evolve(JobVerdict("hello.db", "verify", "digest", 0, VerdictKind.CLEAN, 0.5), **more)


def test_a_job_arrives_with_its_files(tmp_path: Path) -> None:
    """A job for a Dask worker contains the recording and the files of options such as `--plans`."""
    first, second = tmp_path / "a" / "x", tmp_path / "b" / "x"
    for place in (first, second):
        place.parent.mkdir()
        place.write_text(place.parent.name)
    options = ("--top=3", f"--baseline={first}", f"--plans={second}", "--json")
    sent = job(HELLO, options=options, files=(str(first), str(second)), output="/of/the/caller.db")
    there = tmp_path / "there"
    there.mkdir()
    way = packed(sent)
    assert len(way) < HELLO.stat().st_size / 5
    got = unpacked(way, there)[0]
    assert Path(got.path).name == "hello.db"
    assert Path(got.path).read_bytes() == HELLO.read_bytes()
    assert [Path(path).read_text() for path in got.files] == ["a", "b"]
    assert got.options == (
        "--top=3", f"--baseline={got.files[0]}", f"--plans={got.files[1]}", "--json"
    )  # fmt: skip
    assert all(Path(path).is_relative_to(there) for path in (got.path, *got.files))
    assert got.output == str(there / "new.db")
    assert (got.recording, got.digest) == (sent.recording, sent.digest)


def test_a_shared_recording_does_not_travel(tmp_path: Path) -> None:
    """A recording given as `file://PATH` is not sent to a Dask worker, which reads it itself."""
    way = packed(job(HELLO, is_shared=True))
    assert len(way) < 1000
    got, names = unpacked(way, tmp_path)
    assert (got.path, names, [*tmp_path.iterdir()]) == (str(HELLO), {}, [])


def test_a_live_recording_travels_as_far_as_it_is(tmp_path: Path) -> None:
    """Of a running recording, a Dask worker gets a copy with the frames so far."""
    with LogWriter(tmp_path / "x.db") as writer:
        writer.to_agent({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
        live = packed(job(writer.path))
    dead = packed(job(writer.path))
    for number, shipment in enumerate((live, dead)):
        place = tmp_path / str(number)
        place.mkdir()
        got = unpacked(shipment, place)[0]
        with RecordingReader(Path(got.path)) as reader:
            assert [row["method"] for row in reader.frames()] == ["initialize"]


def test_a_verdict_names_files_as_the_caller_does(tmp_path: Path) -> None:
    """The verdict from a Dask worker names the user's files, not the worker's temporary copies."""
    new = tmp_path / "new.db"
    new.write_bytes(b"new")
    names = {"/w/0/hello.db": "runs/hello.db", "/w/1/slow.toml": "plans/slow.toml"}
    runs = ({"plan": "/w/1/slow.toml", "outcome": "hung"},)
    said = verdict(
        command="faults sweep", new_recording=str(new), findings=runs,
        error="cannot read /w/0/hello.db: it is damaged",
    )  # fmt: skip
    actual = delivered(reply_of(said, names), job(HELLO, output=str(tmp_path / "run.db")))
    assert actual.error == "cannot read runs/hello.db: it is damaged"
    assert actual.findings == ({"plan": "plans/slow.toml", "outcome": "hung"},)
    assert Path(actual.new_recording or "").read_bytes() == b"new"


def test_a_new_run_spares_what_is_there(tmp_path: Path) -> None:
    """If `run.db` of `verify --output run.db` exists, a Dask worker's new run is `run-2.db`."""
    output = tmp_path / "recordings" / "run.db"
    asked = job(HELLO, output=str(output))
    new = tmp_path / "new.db"
    for count, name in ((1, "run.db"), (2, "run-2.db")):
        new.write_text(f"{count}")
        actual = delivered(reply_of(verdict(new_recording=str(new)), {}), asked)
        assert actual.new_recording == str(output.with_name(name))
        assert output.with_name(name).read_text() == f"{count}"
    assert delivered(reply_of(verdict(), {}), asked).new_recording is None
