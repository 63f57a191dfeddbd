"""``bundle``: what a bug report needs, in one file without secrets."""

from __future__ import annotations

import re
import stat
import zipfile
from pathlib import Path

from acp_proxy import __version__
from tests.support.audit_conversation import Talk
from tests.support.command_line import complaint, run
from tests.support.log_writer import LogWriter, handshake, text, update
from tests.support.report_page import decode_page
from tests.unit.cli.explain.test_audit import write

TOUR = Path(__file__).parents[4] / "recordings" / "tour.db"
SECRET = "ghp_" + "x7Kq2Zp9Lw4Vb8Nc3Rt6Ym1Hd5Gf0JsAeUiO"
NAMES = ["recording.jsonl", "report.html", "transcript.md", "show.txt", "versions.txt"]


def contents(path: Path) -> dict[str, str]:
    """The files of an archive."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_it_has_all_that_is_needed(tmp_path: Path) -> None:
    """Each as its own command writes it; stderr says what is there."""
    output = tmp_path / "bug.zip"
    done = run("inspect", "bundle", TOUR, "-o", output)
    assert (done.exit_code, done.stdout) == (0, "")
    found = contents(output)
    assert [*found] == NAMES
    first, *rest = found["recording.jsonl"].splitlines()
    assert '"redaction":"secrets"' in first
    assert rest == run("inspect", "export", TOUR).stdout.splitlines()[1:]
    assert found["transcript.md"] == run("inspect", "transcript", TOUR).stdout
    page = decode_page(found["report.html"])
    assert page.lines is not None
    assert page.meta["summary"]["path"] == "tour.db"
    assert str(TOUR.parent) not in found["report.html"]
    assert re.match(r"tour  \([0-9a-f]{12}\)  complete  no problems, 1 info\n", found["show.txt"])
    assert str(TOUR.parent) not in found["show.txt"]
    for line in (f"acp-proxy    {__version__}", "agent        demo-agent 1.0", "dialect      v1"):
        assert f"{line}\n" in found["versions.txt"]
    first, second = done.stderr.splitlines()
    assert first.startswith(f"acp-proxy: {output} has recording.jsonl (14.1 kB), report.html (")
    assert first.endswith("; no secret was found")
    assert second.startswith("acp-proxy: read it before you share it: prompts, files and paths")
    assert stat.S_IMODE(output.stat().st_mode) == 0o600


def test_the_same_recording_makes_the_same_archive(tmp_path: Path) -> None:
    """Whenever it is made."""
    for name in ("a.zip", "b.zip"):
        run("inspect", "bundle", TOUR, "-o", tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert {info.date_time[0] for info in archive.infolist()} == {1980}


def test_an_archive_that_is_there_stays(tmp_path: Path) -> None:
    """Unless --force is given."""
    output = tmp_path / "bug.zip"
    output.write_text("mine")
    assert "exists" in complaint("inspect", "bundle", TOUR, "-o", output)
    assert output.read_text() == "mine"
    assert run("inspect", "bundle", TOUR, "-o", output, "--force").exit_code == 0
    assert [*contents(output)] == NAMES


def test_secrets_are_masked_always(tmp_path: Path) -> None:
    """Also where all commands show them; with --level private prompts are masked as well."""
    talk = Talk()
    talk.update("agent_message_chunk", content=text(f"the token is {SECRET}"))
    path, output = write(talk, tmp_path / "x.jsonl"), tmp_path / "bug.zip"
    done = run("--unredacted", "inspect", "bundle", path, "-o", output)
    assert "1 secret is masked in 1 place" in done.stderr
    found = contents(output)
    assert all(SECRET not in part for part in found.values())
    assert "the token is [redacted:" in found["transcript.md"]
    private = run("inspect", "bundle", path, "-o", output, "--force", "--level", "private")
    assert "private text is masked" in private.stderr
    assert all("the token is" not in part for part in contents(output).values())


def test_a_chat_that_hangs_can_be_bundled(tmp_path: Path) -> None:
    """While its recorder runs."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.to_client(update("s", "agent_message_chunk", content=text(f"so far {SECRET}")))
        done = run("inspect", "bundle", recorder.path, "-o", tmp_path / "bug.zip")
        assert done.exit_code == 0
        found = contents(tmp_path / "bug.zip")
    assert "so far [redacted:" in found["transcript.md"]
    assert "running" in found["show.txt"]
    assert all(SECRET not in part for part in found.values())
