"""``transcript`` on a terminal: coloured headings and wrapped text, without Markdown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acp_proxy.cli.screens.styled_text import columns_of
from tests.support.audit_conversation import Talk
from tests.support.command_line import run
from tests.support.log_writer import text
from tests.unit.cli.explain.test_audit import write
from tests.unit.cli.explain.test_transcript import hostile

ROOT = Path(__file__).parents[4]


def screen(
    monkeypatch: pytest.MonkeyPatch, columns: int | None, *arguments: str | Path, **env: str
) -> str:
    """Returns the output on a terminal with that many columns."""
    monkeypatch.setattr("acp_proxy.cli.screens.output.width", lambda: columns)
    return run("transcript", *arguments, home=None, **env).stdout


def test_a_terminal_gets_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal gets the entries without HTML, fences and tables; other outputs get Markdown."""
    path = ROOT / "recordings" / "tour.db"
    shown = screen(monkeypatch, 80, path)
    assert not re.search(r"</?\w+>|```|^\|", shown, re.MULTILINE)
    assert "\n── turn 1 · end_turn · 9 ms · demo-session-1 ──" in shown
    assert "\nPrompt  #6, 0.512 s\n  tour\n" in shown
    assert "\n  [x] Allow (allow_once)\n" in shown
    assert "\n✗ Client  _demo/unknown  no params  → -32601 Method" in shown
    assert screen(monkeypatch, 80, path, "-o", "-") == screen(monkeypatch, None, path)


def test_markdown_of_a_message_is_rendered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Headings, bold words and code lose their marks, and get a colour or become bold."""
    conversation = Talk()
    said = "## A *title*\nfor **all** `x = 1` of it\n```py\n**kwargs\n```\n2 ** 3 ** 4"
    conversation.update("agent_message_chunk", content=text(said))
    path = write(conversation, tmp_path / "x.jsonl")
    lines = screen(monkeypatch, 80, path).splitlines()
    first = lines.index("  A *title*")
    assert lines[first : first + 4] == [
        "  A *title*", "  for all x = 1 of it", "  **kwargs", "  2 ** 3 ** 4",
    ]  # fmt: skip
    assert "\x1b[1mall\x1b[0m" in screen(monkeypatch, 80, path, FORCE_COLOR="1")


def test_output_loses_its_colours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Colours of recorded output are not printed as escapes; Markdown keeps them as escapes."""
    conversation = Talk()
    output = text("\x1b[1;31mFAILED\x1b[0m a\x1b]8;;http://x\x07b")
    conversation.update(
        "tool_call", toolCallId="c", title="run", status="failed",
        content=[{"type": "content", "content": output}],
    )  # fmt: skip
    path = write(conversation, tmp_path / "x.jsonl")
    assert "\n  FAILED ab\n" in screen(monkeypatch, 80, path)
    assert "\\x1b[1;31mFAILED" in screen(monkeypatch, None, path)


def test_a_terminal_is_not_named_where_it_has_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The note about a terminal in a tool call is left out, and --full prints it."""
    path = ROOT / "recordings" / "terminal.db"
    assert "  terminal terminal-1" not in screen(monkeypatch, 80, path)
    assert "\n  terminal terminal-1\n" in screen(monkeypatch, 80, path, "--full")


@pytest.mark.parametrize("columns", [1, 20, 80, 200])
def test_hostile_text_fits_the_terminal_and_does_not_command_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, columns: int
) -> None:
    """No line is wider than the terminal, and all characters are printable."""
    path = write(hostile(), tmp_path / "x.jsonl")
    for line in screen(monkeypatch, columns, path, "--full").splitlines():
        assert line.isprintable()
        assert columns_of(line) <= columns


def test_long_output_is_short_unless_all_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A terminal shows the first lines of output; ``--full`` and a failure show all lines."""
    output = "\n".join(f"line {n}" for n in range(30))
    conversation = Talk()
    for name, status in (("a", "completed"), ("b", "failed")):
        conversation.call(name, title="Run")
        shown = [{"type": "content", "content": text(output)}]
        conversation.ends(name, status, content=shown, rawOutput={"code": 7})
    path = write(conversation, tmp_path / "x.jsonl")
    short, full = screen(monkeypatch, 80, path), screen(monkeypatch, 80, path, "--full")
    assert short.count("line 29\n") == 1
    assert "\n  … and 18 more lines; --full prints them\n" in short
    assert full.count("line 29\n") == 2
    assert full.count('"code": 7') == 2
