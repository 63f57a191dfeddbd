"""A job travels with its files, and its verdict comes back with the new run."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from acp_proxy.batches.job import Job
from acp_proxy.batches.results import JobVerdict, VerdictKind
from acp_proxy.batches.shipments import (
    Reply,
    Unpacked,
    delivered,
    from_bytes,
    packed,
    reply_of,
    to_bytes,
    unpacked,
    unreadable,
)
from acp_proxy.errors import UnreadableRecording
from acp_proxy.store.reader import RecordingReader
from tests.log_writer import LogWriter
from tests.shipped import DIRECTORY

HELLO = DIRECTORY / "hello.db"


def job(path: Path | str, **more: Any) -> Job:
    """A check of a recording."""
    return evolve(Job(str(path), str(path), "check", (), (), "digest"), **more)


def verdict(**more: Any) -> JobVerdict:
    """A clean one."""
    return evolve(JobVerdict("hello.db", "verify", "digest", 0, VerdictKind.CLEAN, 0.5), **more)


def never(url: str, place: Path) -> None:
    """Fetches nothing."""
    pytest.fail(f"{url} was fetched into {place}")


def test_a_job_arrives_with_its_files(tmp_path: Path) -> None:
    """Options name them where they are then; two files of one name stay two."""
    one, two = tmp_path / "a" / "x", tmp_path / "b" / "x"
    for place in (one, two):
        place.parent.mkdir()
        place.write_text(place.parent.name)
    options = ("--top=3", f"--baseline={one}", f"--plans={two}", "--json")
    sent = job(HELLO, options=options, files=(str(one), str(two)), output="/of/the/caller.db")
    there = tmp_path / "there"
    there.mkdir()
    way = to_bytes(packed(sent))
    assert len(way) < HELLO.stat().st_size / 5
    got = unpacked(from_bytes(way), there, never).job
    assert Path(got.path).name == "hello.db"
    assert Path(got.path).read_bytes() == HELLO.read_bytes()
    assert [Path(path).read_text() for path in got.files] == ["a", "b"]
    assert got.options == (
        "--top=3", f"--baseline={got.files[0]}", f"--plans={got.files[1]}", "--json"
    )  # fmt: skip
    assert all(Path(path).is_relative_to(there) for path in (got.path, *got.files))
    assert got.output == str(there / "new.db")
    assert (got.recording, got.digest) == (sent.recording, sent.digest)


def test_a_directory_arrives_with_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a verdict says of them has the names that the caller gave them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plans" / "more").mkdir(parents=True)
    (tmp_path / "plans" / "slow.toml").write_text("slow")
    (tmp_path / "there").mkdir()
    sent = job(HELLO, options=("--plans=plans/", "--plans=@all", "--json"), files=("plans",))
    there = unpacked(packed(sent), tmp_path / "there", never)
    first, *rest = there.job.options
    place = Path(first.removeprefix("--plans="))
    assert place.is_relative_to(tmp_path / "there")
    assert [path.name for path in place.iterdir()] == ["slow.toml"]
    assert (place / "slow.toml").read_text() == "slow"
    assert rest == ["--plans=@all", "--json"]
    found = verdict(findings=({"plan": f"{place}/slow.toml", "outcome": "hung"},))
    assert reply_of(found, there).verdict.findings == (
        {"plan": "plans/slow.toml", "outcome": "hung"},
    )


def test_what_a_url_names_is_fetched_where_the_job_is_done(tmp_path: Path) -> None:
    """Its bytes do not travel."""
    url = "s3://bucket/runs/hello.db"
    shipment = packed(job(url))
    assert not shipment.files
    fetched = []
    got = unpacked(shipment, tmp_path, lambda *asked: fetched.append(asked))
    assert fetched == [(url, Path(got.job.path))]
    assert Path(got.job.path).name == "hello.db"


def test_a_live_recording_travels_as_far_as_it_is(tmp_path: Path) -> None:
    """Of one whose recorder was killed, the rest of the log goes with it."""
    with LogWriter(tmp_path / "x.db") as writer:
        writer.to_agent({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
        live = packed(job(writer.path))
    dead = packed(job(writer.path))
    for number, shipment in enumerate((live, dead)):
        place = tmp_path / str(number)
        place.mkdir()
        got = unpacked(shipment, place, never).job
        with RecordingReader(Path(got.path)) as reader:
            assert [row["method"] for row in reader.frames()] == ["initialize"]


def test_what_cannot_be_read_has_a_verdict() -> None:
    """The same as where it is: it says why in one line."""
    missing = FileNotFoundError(errno.ENOENT, "No such file or directory")
    found = unreadable(job("x.db", attempt=2), missing)
    assert (found.kind, found.exit, found.attempt) == (VerdictKind.UNREADABLE, 2, 2)
    assert found.error == "no such file or directory"
    damaged = UnreadableRecording(Path("x.db"), "its first\nline is cut")
    assert unreadable(job("x.db"), damaged).error == (
        "cannot read x.db as a recording: its first line is cut"
    )
    with pytest.raises(FileNotFoundError):
        packed(job("/no/such/recording.db"))


def test_a_verdict_names_files_as_the_caller_does(tmp_path: Path) -> None:
    """Nobody but the worker has its temporary files."""
    new = tmp_path / "new.db"
    new.write_bytes(b"new")
    there = Unpacked(job("/w/0/hello.db"), {"/w/0/hello.db": "runs/hello.db"})
    said = verdict(new_recording=str(new), error="cannot read /w/0/hello.db: it is damaged")
    reply = reply_of(said, there)
    assert reply.new_run == b"new"
    assert reply.verdict.error == "cannot read runs/hello.db: it is damaged"
    assert reply_of(verdict(), there).new_run is None


def test_a_new_run_spares_what_is_there(tmp_path: Path) -> None:
    """As a recorder does, it takes another name."""
    output = tmp_path / "recordings" / "run.db"
    asked = job(HELLO, output=str(output))
    reply = Reply(verdict(new_recording="/w/new.db"), b"first")
    assert delivered(reply, asked).new_recording == str(output)
    second = delivered(evolve(reply, new_run=b"second"), asked).new_recording
    assert second == str(output.with_name("run-2.db"))
    assert (output.read_bytes(), Path(second).read_bytes()) == (b"first", b"second")
    assert delivered(Reply(verdict(new_recording="/w/gone.db")), asked).new_recording is None
