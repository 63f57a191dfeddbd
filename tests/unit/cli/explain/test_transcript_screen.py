"""On a terminal, ``transcript`` prints coloured headings and wrapped text, without Markdown."""

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
    """On a terminal, `transcript` prints no HTML and no Markdown fences."""
    path = ROOT / "recordings" / "tour.db"
    shown = screen(monkeypatch, 80, path)
    assert not re.search(r"</?\w+>|```|^\|", shown, re.MULTILINE)
    assert "\n── turn 1 · end_turn · 9 ms · #6–34 · demo-session-1 ──" in shown
    assert re.search(r"\nPrompt +#6, 0.512 s\n  tour\n", shown)
    assert "\n✗ Client  _demo/unknown  no params  → -32601 Method" in shown
    assert screen(monkeypatch, 80, path, "-o", "-") == screen(monkeypatch, None, path)


def test_markdown_of_a_message_is_rendered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On a terminal, `transcript` renders the Markdown of a message, such as bold words."""
    conversation = Talk()
    said = "## A *title*\nfor **all** `x = 1` of it\n```py\n**kwargs\n```\n2 ** 3 ** 4\n- one"
    conversation.update("agent_message_chunk", content=text(said))
    path = write(conversation, tmp_path / "x.jsonl")
    lines = screen(monkeypatch, 80, path).splitlines()
    first = lines.index("  A *title*")
    assert lines[first : first + 5] == [
        "  A *title*", "  for all x = 1 of it", "  │ **kwargs", "  2 ** 3 ** 4", "  • one",
    ]  # fmt: skip
    assert "\x1b[1mall\x1b[0m" in screen(monkeypatch, 80, path, FORCE_COLOR="1")


def test_output_loses_its_colours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On a terminal, `transcript` removes colour codes from the recorded output of a tool call."""
    conversation = Talk()
    output = text("\x1b[1;31mFAILED\x1b[0m a\x1b]8;;http://x\x07b")
    conversation.update(
        "tool_call", toolCallId="c", title="run", status="failed",
        content=[{"type": "content", "content": output}],
    )  # fmt: skip
    path = write(conversation, tmp_path / "x.jsonl")
    assert "\n  │ FAILED ab\n" in screen(monkeypatch, 80, path)
    assert "\\x1b[1;31mFAILED" in screen(monkeypatch, None, path)


def test_what_belongs_to_a_call_is_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, `transcript` indents a permission or file request below its tool call."""
    lines = screen(monkeypatch, 80, ROOT / "recordings" / "tour.db").splitlines()
    heads = [line[:21].rstrip() for line in lines if re.search(r" #\d", line)]
    first = heads.index("Tool call  Edit greet")
    assert heads[first : first + 7] == [
        "Tool call  Edit greet",
        "  Request  fs/read_te",
        "  Permission  Edit gr",
        "  Request  fs/write_t",
        "Agent",
        "Tool call  grep -c AC",
        "  Terminal  grep -c A",
    ]
    assert "    ● Allow  ○ Always allow  ○ Reject" in lines
    assert lines.count("  │ +Hello, ACP!") == 2  # in two calls
    assert "    │ +Hello, ACP!" not in lines
    rejected = screen(monkeypatch, 80, ROOT / "recordings" / "edit-rejected.db")
    assert "\n    │ +Hello, ACP!\n" in rejected
    lost = screen(monkeypatch, 80, ROOT / "recordings" / "lost-permission.db")
    assert "\n  Request  fs/read_text_file  greeting.txt" in lost
    assert "\n  ✗ Permission  Edit greeting.txt  → not answered" in lost


def test_findings_and_pauses_are_below_their_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, `transcript` prints a problem or a long pause below the entry concerned."""
    late = screen(monkeypatch, 100, ROOT / "recordings" / "late-updates.db")
    title, peers = late.splitlines()[:2]
    assert title.endswith("  agent broke a rule #10 · 4 warnings")
    assert peers == "demo-client 1.0 → demo-agent 1.0"
    assert re.search(r"  → completed +#11, .*\n  ! #11 session/update: tool_call_update", late)
    assert late.index("  ! #10 session/prompt: ") < late.index("── outside of turns")
    path = ROOT / "recordings" / "lost-permission.db"
    lost = screen(monkeypatch, 100, path).splitlines()
    assert "client: no answer #11 · ✗ 1 error" in lost[0]
    at = next(n for n, line in enumerate(lost) if line.startswith("  ✗ the client never answered"))
    assert lost[at - 1] == "    │  Hej! 你好! 😀"
    assert lost[at + 3] == "  ··· 3.0 s, waiting for a person: permission, never answered ···"
    few = screen(monkeypatch, 100, path, "kind:stderr or seq:6")
    assert "\n  ✗ the client" not in few
    assert "···" not in few
    assert screen(monkeypatch, 100, path, "--turn", "1").count("···") == 2


def test_calls_at_the_same_time_share_no_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If two tool calls run at once, `transcript` puts a file request below neither of them."""
    conversation = Talk()
    conversation.call("a", title="First")
    conversation.call("b", title="Second")
    conversation.permission("1", {"toolCallId": "a", "title": "May I?"})
    conversation.asks("fs/read_text_file", {"content": "x"}, path="/x")
    conversation.ends("b")
    conversation.ends("a")
    shown = screen(monkeypatch, 80, write(conversation, tmp_path / "x.jsonl"))
    assert "\nPermission  May I?" in shown
    assert "\nRequest  fs/read_text_file  /x" in shown


def test_the_end_of_a_turn_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """`transcript` prints a turn's stop reason above the turn, and with `--full` also below it."""
    path = ROOT / "recordings" / "tour.db"
    assert "End of the turn" not in screen(monkeypatch, 80, path)
    assert "\nEnd of the turn  end_turn" in screen(monkeypatch, 80, path, "--full")
    lost = screen(monkeypatch, 80, ROOT / "recordings" / "hang.db")
    assert "  → in_progress, never ended" in lost
    assert "\n✗ End of the turn  → never answered" in lost


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_numbers_of_frames_are_at_the_right(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """On a terminal, frame numbers end in the same column in all headings of `transcript`."""
    for name in ("tour", "terminal", "crash"):
        shown = screen(monkeypatch, columns, ROOT / "recordings" / f"{name}.db")
        heads = re.findall(r"^.*  #\d.*$", shown, re.MULTILINE)
        assert len(heads) > 6
        assert {columns_of(head) for head in heads} == {min(columns, 120)}


def test_a_terminal_is_not_named_where_it_has_an_entry(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`transcript` names a tool call's terminal only if the terminal has no entry of its own."""
    path = ROOT / "recordings" / "terminal.db"
    assert "│ terminal terminal-1" not in screen(monkeypatch, 80, path)
    assert "\n  │ terminal terminal-1\n" in screen(monkeypatch, 80, path, "--full")
    assert "\n  │ terminal terminal-1\n" in screen(monkeypatch, 80, path, "seq:9")
    conversation = Talk()
    conversation.call("a", title="Run", content=[{"type": "terminal", "terminalId": "t-9"}])
    conversation.ends("a")
    shown = screen(monkeypatch, 80, write(conversation, tmp_path / "x.jsonl"))
    assert shown.count("\n  │ terminal t-9\n") == 1


@pytest.mark.parametrize("columns", [1, 20, 80, 200])
def test_hostile_text_fits_the_terminal_and_does_not_command_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, columns: int
) -> None:
    """No line of `transcript` is wider than the terminal, and all characters are printable."""
    path = write(hostile(), tmp_path / "x.jsonl")
    for line in screen(monkeypatch, columns, path, "--full").splitlines():
        assert line.isprintable()
        assert columns_of(line) <= columns


def test_long_output_is_short_unless_all_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On a terminal, `transcript` cuts the output of a command that has not failed."""
    output = "\n".join(f"line {n}" for n in range(30))
    conversation = Talk()
    for name, status in (("a", "completed"), ("b", "failed")):
        conversation.call(name, title="Run")
        shown = [{"type": "content", "content": text(output)}]
        conversation.ends(name, status, content=shown, rawOutput={"code": 7})
    path = write(conversation, tmp_path / "x.jsonl")
    short, full = screen(monkeypatch, 80, path), screen(monkeypatch, 80, path, "--full")
    assert short.count("line 29\n") == 1
    assert "\n  │ … and 18 more lines; --full prints them\n" in short
    assert full.count("line 29\n") == 2
    assert full.count('"code": 7') == 2
