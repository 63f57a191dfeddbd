"""Tests which page ``report`` writes, where, and with which messages."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from acp_proxy.base.wording import byte_size
from tests.support.audit_conversation import Talk
from tests.support.command_line import complaint, run
from tests.support.log_writer import LogWriter, handshake, text, update
from tests.support.report_page import decode_page
from tests.unit.cli.explain.test_audit import write

RECORDINGS = Path(__file__).parents[3] / "recordings"
TOUR, LOST = RECORDINGS / "tour.db", RECORDINGS / "lost-permission.db"
SECRET = "ghp_" + "x7Kq2Zp9Lw4Vb8Nc3Rt6Ym1Hd5Gf0JsAeUiO"


def banner(page: str) -> str:
    """Returns the warning at the top of a page, and the text about the contents of its file."""
    parts = re.findall(
        r'<header id="banner"[^>]*>.*?</header>|<p id="contents"[^>]*>.*?</p>', page, re.DOTALL
    )
    return " ".join(re.sub(r"<[^>]+>", "", " ".join(parts)).split())


def test_it_writes_a_page_named_after_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`report` writes an HTML page named after the recording, which only its owner can read."""
    monkeypatch.chdir(tmp_path)
    result = run("inspect", "report", LOST)
    assert (result.exit_code, result.stdout) == (0, "")
    page = tmp_path / "lost-permission.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    size = byte_size(page.stat().st_size)
    says, warns = result.stderr.splitlines()
    assert says == (
        f"acp-proxy: lost-permission.html ({size}) has 16 of 16 frames and events;"
        " no secret was found"
    )
    assert warns == (
        "acp-proxy: read it before you send it: prompts, files and paths are not masked"
    )
    html = page.read_text(encoding="utf-8")
    assert "The client is to blame, at frame" in html
    assert banner(html) == (
        "This file has all 16 frames and events, with what was said; no secret was found."
        " Prompts, files and paths are as they were: read it before you send it."
    )


def test_the_same_recording_makes_the_same_page(tmp_path: Path) -> None:
    """Two HTML pages that `report` makes of one recording are equal byte for byte."""
    for name in ("a.html", "b.html"):
        run("inspect", "report", TOUR, "-o", tmp_path / name)
    page = (tmp_path / "a.html").read_bytes()
    assert (tmp_path / "b.html").read_bytes() == page
    printed = run("report", TOUR, "-o", "-")
    assert (printed.stdout_bytes, printed.stderr) == (page, "")


def test_a_page_that_is_there_stays(tmp_path: Path) -> None:
    """`report` replaces an existing page only with `--force`, and a recording never."""
    page = tmp_path / "tour.html"
    page.write_text("mine")
    assert "exists" in complaint("inspect", "report", TOUR, "-o", page)
    assert page.read_text() == "mine"
    assert run("inspect", "report", TOUR, "-o", page, "--force").exit_code == 0
    copy = tmp_path / "copy.db"
    copy.write_bytes(TOUR.read_bytes())
    refused = complaint("inspect", "report", TOUR, "-o", copy, "--force")
    assert "recording" in refused
    assert copy.read_bytes() == TOUR.read_bytes()


def test_a_filter_and_a_turn_choose_the_messages(tmp_path: Path) -> None:
    """`report` with a filter and `--turn` writes a page with only the matching messages."""
    page = tmp_path / "x.html"
    words = ("kind:request", "--turn", "1", "--no-payloads")
    result = run("inspect", "report", TOUR, *words, "-o", page)
    html = page.read_text(encoding="utf-8")
    data = decode_page(html)
    assert {row["kind"] for row in data.rows} == {"request"}
    assert {row["turn"] for row in data.rows} == {1}
    assert data.lines is None
    count = len(data.rows)
    assert f"has {count} of 62 frames and events, without payloads; no secret" in result.stderr
    assert banner(html).startswith(
        f"This file has {count} of 62 frames and events, turn 1, filter kind:request,"
        " without payloads: the lines themselves are left out; no secret was found."
    )
    summary = json.loads(run("inspect", "show", TOUR, "--json").stdout)
    assert data.meta["summary"] == summary


def test_a_filter_without_a_match_is_reported(tmp_path: Path) -> None:
    """If a filter of `report` matches nothing, stderr says so and suggests a similar filter."""
    result = run("inspect", "report", TOUR, "method:session/promt", "-o", tmp_path / "x.html")
    assert "did you mean method:session/prompt?" in result.stderr
    assert "has 0 of 62 frames" in result.stderr
    assert "expected" in complaint("inspect", "report", TOUR, "kind:")
    assert "no turn 9" in complaint("inspect", "report", TOUR, "--turn", "9")


def test_secrets_are_masked_unless_asked_for(tmp_path: Path) -> None:
    """A page of `report` masks secrets; with `--unredacted`, it shows them below a warning."""
    conversation = Talk()
    conversation.update("agent_message_chunk", content=text(f"the token is {SECRET}"))
    path, output = write(conversation, tmp_path / "x.jsonl"), tmp_path / "x.html"
    result = run("inspect", "report", path, "-o", output)
    assert "1 secret is masked in 1 place" in result.stderr
    html = output.read_text(encoding="utf-8")
    assert "1 secret is masked in 1 place (1 token)." in banner(html)
    data = decode_page(html)
    assert data.lines is not None
    assert SECRET not in html
    assert not any(SECRET.encode() in line for line in data.lines)
    shown = run("inspect", "report", path, "-o", output, "--force", "--unredacted")
    assert "SECRETS ARE NOT MASKED" in shown.stderr
    html = output.read_text(encoding="utf-8")
    assert banner(html).startswith("SECRETS ARE NOT MASKED: this file may hold keys")
    lines = decode_page(html).lines
    assert lines is not None
    assert any(SECRET.encode() in line for line in lines)


def test_a_running_chat_has_a_page(tmp_path: Path) -> None:
    """The HTML page that `report` makes of a running recording contains all frames so far."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.to_client(update("s", "agent_message_chunk", content=text("so far")))
        result = run("inspect", "report", recorder.path, "-o", tmp_path / "x.html")
        assert result.exit_code == 0
    html = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "still running" in html


def test_rules_of_a_long_recording_are_checked_at_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a recording is long, its page of `report` says up to which message rules were checked."""
    monkeypatch.setattr("acp_proxy.report.report_model.CHECKED_FRAMES", 5)
    page, findings = tmp_path / "x.html", "comes after the end of the turn"
    run("inspect", "report", RECORDINGS / "late-updates.db", "-o", page)
    html = page.read_text(encoding="utf-8")
    assert findings not in html
    assert "were checked up to" in html
    assert "<code>acp-proxy check</code> checks all" in html


def test_a_page_without_data_is_small(tmp_path: Path) -> None:
    """Without its recorded data, a page that `report` writes is smaller than 150 kB."""
    run("inspect", "report", RECORDINGS / "hello.db", "-o", tmp_path / "x.html")
    html = (tmp_path / "x.html").read_text(encoding="utf-8")
    without = re.sub(
        r'<script type="application/octet-stream" id="(?!script).*?</script>', "", html
    )
    assert len(without.encode()) < 150_000


def test_two_recordings_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`report A --against B` writes the page `A-against-B.html` with all differences of `diff`."""
    monkeypatch.chdir(tmp_path)
    result = run("inspect", "report", TOUR, "--against", LOST)
    assert (result.exit_code, result.stdout) == (0, "")
    page = tmp_path / "tour-against-lost-permission.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    compared = run("inspect", "diff", TOUR, LOST, "--json").stdout.splitlines()
    counts = json.loads(compared[0])["counts"]
    size = page.stat().st_size / 1000
    first, second = result.stderr.splitlines()
    assert first.startswith(
        f"acp-proxy: {page.name} ({size:.1f} kB): {counts['total']} differences"
    )
    assert first.endswith("; no secret was found")
    assert second.startswith("acp-proxy: read it before you send it")
    html = page.read_text(encoding="utf-8")
    assert html.count("<article") == counts["total"]
    assert "exists" in complaint("inspect", "report", TOUR, "--against", LOST)
    printed = run("inspect", "report", TOUR, "--against", LOST, "-o", "-")
    assert (printed.stdout_bytes, printed.stderr) == (page.read_bytes(), "")


def test_a_comparison_is_of_what_a_filter_matches(tmp_path: Path) -> None:
    """With `report --against`, a filter selects the frames of both recordings that are compared."""
    compare = ("inspect", "report", TOUR, "--against", LOST)
    result = run(*compare, "method:session/new", "-o", tmp_path / "x.html")
    assert "filter <code><bdi>method:session/new" in (tmp_path / "x.html").read_text()
    assert result.exit_code == 0
    result = run(*compare, "method:nothing", "-o", tmp_path / "y.html")
    assert result.stderr.startswith("acp-proxy: no frame matches FILTER\n")
    refused = complaint(*compare, "--turn", "1")
    assert "--against cannot be combined with --turn or --no-payloads" in refused
    run(*compare, "--expect", "outcome", "--ignore", "/result", "-o", tmp_path / "z.html")
    options = ("--expect", "outcome", "--ignore", "/result", "--json")
    counts = json.loads(run("inspect", "diff", TOUR, LOST, *options).stdout.splitlines()[0])[
        "counts"
    ]
    assert (tmp_path / "z.html").read_text().count("<article") == counts["total"]
    assert "expected --against" in complaint("inspect", "report", TOUR, "--ignore", "/result")
    twice = complaint("inspect", "report", "-", "--against", "-")
    assert "expected one recording on standard input, got two" in twice


def test_a_comparison_masks_the_secrets_of_both(tmp_path: Path) -> None:
    """The HTML page of `report --against` masks the secrets of both recordings."""
    for name, secret in (("a", SECRET), ("b", "nothing")):
        with LogWriter(tmp_path / f"{name}.db") as recorder:
            handshake(recorder)
            recorder.to_client(update("s", "agent_message_chunk", content=text(f"it is {secret}")))
            recorder.finish()
    compare = ("inspect", "report", tmp_path / "a.db", "--against", tmp_path / "b.db", "-o", "-")
    page = run(*compare).stdout
    assert SECRET not in page
    assert "1 secret is masked in 1 place" in page
    shown = run(*compare, "--unredacted").stdout
    assert SECRET in shown
    assert "SECRETS ARE NOT MASKED" in banner(shown)


@pytest.mark.parametrize("name", ["../../x", "-", "a\nb", "x" * 300])
def test_a_strange_name_is_no_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a recording is named `../../x`, `report` writes its page to `report.html` instead."""
    first, *rest = run("inspect", "export", LOST).stdout.splitlines(keepends=True)
    head = json.loads(first)
    head["recording"]["name"] = name
    made = tmp_path / "made"
    made.mkdir()
    (tmp_path / "strange.jsonl").write_text("".join([json.dumps(head) + "\n", *rest]))
    monkeypatch.chdir(made)
    assert run("inspect", "report", tmp_path / "strange.jsonl").exit_code == 0
    assert [path.name for path in made.iterdir()] == ["report.html"]
    assert len([*tmp_path.iterdir()]) == 2
