"""``bundle`` packs the files for a bug report, without secrets, into one archive."""

from __future__ import annotations

import re
import stat
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from acp_proxy import __version__
from tests.support.audit_conversation import Talk
from tests.support.command_line import complaint, run
from tests.support.log_writer import LogWriter, handshake, record_conversation, text, update
from tests.support.report_page import decode_page
from tests.unit.cli.explain.test_audit import write

if TYPE_CHECKING:
    import pytest

TOUR = Path(__file__).parents[4] / "recordings" / "tour.db"
SECRET = "ghp_" + "x7Kq2Zp9Lw4Vb8Nc3Rt6Ym1Hd5Gf0JsAeUiO"
NAMES = ["recording.jsonl", "report.html", "transcript.md", "show.txt", "versions.txt"]


def contents(path: Path) -> dict[str, str]:
    """Returns the files of an archive."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_the_archive_has_all_that_is_needed(tmp_path: Path) -> None:
    """The archive of `bundle` has what `export`, `transcript`, `report` and `show` write."""
    output = tmp_path / "bug.zip"
    result = run("inspect", "bundle", TOUR, "-o", output)
    assert (result.exit_code, result.stdout) == (0, "")
    files = contents(output)
    assert [*files] == NAMES
    first, *rest = files["recording.jsonl"].splitlines()
    assert '"redaction":"secrets"' in first
    assert rest == run("inspect", "export", TOUR).stdout.splitlines()[1:]
    assert files["transcript.md"] == run("inspect", "transcript", TOUR).stdout
    page = decode_page(files["report.html"])
    assert page.lines is not None
    assert page.meta["summary"]["path"] == "tour.db"
    assert str(TOUR.parent) not in files["report.html"]
    assert re.match(r"tour  \([0-9a-f]{12}\)  no problems, 1 note\n", files["show.txt"])
    assert str(TOUR.parent) not in files["show.txt"]
    for line in (f"acp-proxy    {__version__}", "agent        demo-agent 1.0", "dialect      v1"):
        assert f"{line}\n" in files["versions.txt"]
    first, second = result.stderr.splitlines()
    assert first.startswith(f"acp-proxy: {output} has recording.jsonl (14.1 kB), report.html (")
    assert first.endswith("; no secret was found")
    assert second.startswith("acp-proxy: read it before you share it: prompts, files and paths")
    assert stat.S_IMODE(output.stat().st_mode) == 0o600


def test_the_same_recording_makes_the_same_archive(tmp_path: Path) -> None:
    """Two archives that `bundle` makes of one recording are identical, whenever they are made."""
    for name in ("a.zip", "b.zip"):
        run("inspect", "bundle", TOUR, "-o", tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert {info.date_time[0] for info in archive.infolist()} == {1980}


def test_an_archive_that_is_there_stays(tmp_path: Path) -> None:
    """`bundle` replaces an existing archive only with --force."""
    output = tmp_path / "bug.zip"
    output.write_text("mine")
    assert "exists" in complaint("inspect", "bundle", TOUR, "-o", output)
    assert output.read_text() == "mine"
    assert run("inspect", "bundle", TOUR, "-o", output, "--force").exit_code == 0
    assert [*contents(output)] == NAMES


def test_the_latest_recording_is_packed_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`bundle` without arguments packs the latest recording, and names the archive after it."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "recordings").mkdir()
    record_conversation(tmp_path / "recordings/chat.db", name="chat")
    result = run("bundle", home=tmp_path / "recordings")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("acp-proxy: chat.zip has recording.jsonl (")
    assert [*contents(Path("chat.zip"))] == NAMES
    assert "exists" in complaint("bundle", home=tmp_path / "recordings")
    assert [path.name for path in Path().iterdir()] == ["chat.zip"]


def test_a_recording_cannot_choose_the_directory_of_its_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a recording's name is `../x`, `bundle` does not write its archive to that path."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = record_conversation(tmp_path / "chat.db", name="../evil")
    assert run("bundle", path).exit_code == 0
    assert [*tmp_path.rglob("*.zip")] == [tmp_path / "here/report.zip"]


def test_secrets_are_masked_always(tmp_path: Path) -> None:
    """`bundle` always masks secrets, even with --unredacted."""
    conversation = Talk()
    conversation.update("agent_message_chunk", content=text(f"the token is {SECRET}"))
    path, output = write(conversation, tmp_path / "x.jsonl"), tmp_path / "bug.zip"
    result = run("--unredacted", "inspect", "bundle", path, "-o", output)
    assert "1 secret is masked in 1 place" in result.stderr
    files = contents(output)
    assert all(SECRET not in part for part in files.values())
    assert "the token is [redacted:" in files["transcript.md"]
    private = run("inspect", "bundle", path, "-o", output, "--force", "--level", "private")
    assert "private text is masked" in private.stderr
    assert all("the token is" not in part for part in contents(output).values())


def test_a_chat_that_hangs_can_be_bundled(tmp_path: Path) -> None:
    """`bundle` can pack a recording while its recorder runs."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.to_client(update("s", "agent_message_chunk", content=text(f"so far {SECRET}")))
        result = run("inspect", "bundle", recorder.path, "-o", tmp_path / "bug.zip")
        assert result.exit_code == 0
        files = contents(tmp_path / "bug.zip")
    assert "so far [redacted:" in files["transcript.md"]
    assert "running" in files["show.txt"]
    assert all(SECRET not in part for part in files.values())
