"""``transcript`` writes the conversation as Markdown."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from acp_proxy.base.forms import converter
from acp_proxy.check.judgement import summarize_whole
from acp_proxy.cli.explain import transcript as command
from acp_proxy.store.reader import RecordingReader
from tests.support.audit_conversation import ALLOW, CWD, REJECT, Talk, edit
from tests.support.command_line import complaint, run
from tests.support.log_writer import error, result, text
from tests.support.markdown_code import fences, outside_of_code
from tests.unit.cli.explain.test_audit import write

HOSTILE = "\x1b[2J\u202e|`*_<b>&@you #1 [x](http://x) www.x.de \\ $a$ ~~b~~\n{{c}}"
ROOT = Path(__file__).parents[4]
GOLDEN = Path(__file__).parents[3] / "data" / "transcripts"


def markup(markdown: str) -> str:
    """Returns the text outside of fences and code spans."""
    return "\n".join(outside_of_code(markdown.splitlines()))


@pytest.mark.parametrize("name", ["tour", "edit-rejected"])
def test_a_whole_recording_is_as_expected(name: str) -> None:
    """The Markdown that `transcript` prints for a whole recording equals a golden file."""
    shown = run("inspect", "transcript", ROOT / "recordings" / f"{name}.db")
    assert shown.stdout == (GOLDEN / f"{name}.md").read_text(encoding="utf-8")
    assert shown.stderr == ""


def hostile() -> Talk:
    """A recording in which every text of a peer is hostile."""
    end = "```\n````\n</details>\n# Title"
    bad = f"{HOSTILE}\n{end}"
    conversation = Talk()
    conversation.update("agent_message_chunk", content=text(bad))
    conversation.update("agent_thought_chunk", content=text(bad))
    conversation.call("a`", title=bad, kind=HOSTILE, rawInput={"command": bad})
    conversation.ends("a`", HOSTILE, content=[{"type": "content", "content": text(bad)}])
    conversation.call("b", **edit(f"{CWD}/{bad}"))
    conversation.permission(ALLOW, {"toolCallId": "c", "title": bad}, title=bad)
    conversation.asks("fs/read_text_file", {"content": bad}, path=bad)
    conversation.asks_in_vain(f"_{bad}", x=bad)
    conversation.asks("terminal/create", {"terminalId": bad}, command=bad, cwd=bad)
    conversation.asks("terminal/output", {"output": bad}, terminalId=bad)
    conversation.update("plan", entries=[{"content": bad, "priority": bad, "status": bad}])
    conversation.update(bad, x=bad)
    conversation.to_client({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": bad}})
    return conversation


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    """In a Markdown transcript, recorded text is only in fences and code spans, never markup."""
    shown = run("inspect", "transcript", write(hostile(), tmp_path / "x.jsonl")).stdout
    assert shown.replace("\n", "").replace("\t", "").isprintable()
    bare = markup(shown)
    bare = re.sub(r"</?(?:code|b|summary|details|details open)>|&#\d+;", "", bare)
    bare = re.sub(r"\*\*[A-Z][A-Za-z ]*\*\*|^- \[[x ]\]|^#{1,3} ", "", bare, flags=re.MULTILINE)
    assert not re.search(r"[`*<>&@\\$~\[\]{}]|www\.|://", bare), bare
    titles = [line for line in markup(shown).splitlines() if line.startswith("#")]
    assert [line.split(" ")[1] for line in titles] == [
        "Conversation", "Before", "Session", "Turn", "Outside",
    ][: len(titles)]  # fmt: skip


def test_what_failed_is_open_and_the_rest_is_folded(tmp_path: Path) -> None:
    """In a Markdown transcript, a failed tool call is unfolded, and other calls are folded."""
    conversation = Talk()
    conversation.call("toolu_01XyZ", title="Read a.py")
    conversation.call("b", title="pytest -q")
    conversation.permission(REJECT, {"toolCallId": "b"})
    conversation.ends("b", "failed", rawOutput="not permitted")
    conversation.call("c", title="make")
    conversation.ends("c", "failed", rawOutput="command not found")
    conversation.ends("toolu_01XyZ")
    conversation.asks_in_vain("fs/read_text_file", path="/c")
    conversation.to_client(error(3, -32603, "overloaded"))
    shown = run("inspect", "transcript", write(conversation, tmp_path / "x.jsonl")).stdout
    assert "<details>\n<summary><b>Tool call</b> · <code>Read a.py</code>" in shown
    assert "<details open>\n<summary>✗ <b>Tool call</b> · <code>make</code>" in shown
    assert "<details>\n<summary><b>Tool call</b> · <code>pytest -q</code> · rejected" in shown
    assert "**Permission** `pytest -q`: `denied (Reject)` after 1.0 s" in shown
    assert "- [x] `Reject` (reject_once)" in shown
    assert "✗ **Request** `fs/read_text_file` `/c` → `-32603 (internal error) no disk`" in shown
    assert "### ✗ Turn 1: error after" in shown
    assert "command not found\n" in fences(shown.splitlines())


def test_long_texts_are_cut_unless_full(tmp_path: Path) -> None:
    """`transcript` cuts long texts unless `--full` is given."""
    conversation = Talk()
    conversation.ends("a", rawOutput="begin" + "x" * 5000 + "end")
    path = write(conversation, tmp_path / "x.jsonl")
    shown = run("inspect", "transcript", path).stdout
    assert "*… 1,008 of 5,008 characters are left out …*" in shown
    assert "`--full`" in shown
    whole = run("inspect", "transcript", path, "--full").stdout
    assert "begin" + "x" * 5000 + "end\n" in fences(whole.splitlines())
    assert "Nothing is cut" in whole


def test_a_turn_can_be_chosen(tmp_path: Path) -> None:
    """`transcript --turn 2` prints only turn 2, and says so at the top."""
    conversation = Talk()
    conversation.to_client(result(3, stopReason="end_turn"))
    conversation.prompt()
    path = write(conversation, tmp_path / "x.jsonl")
    second = run("inspect", "transcript", path, "--turn", "2").stdout
    assert "| shown | turn 2 |" in second
    assert "Turn 1" not in second
    assert "### ✗ Turn 2: never ended" in second
    assert complaint("inspect", "transcript", path, "--turn", "3").startswith("no turn 3 in ")
    nothing = run("inspect", "transcript", path, "text:nowhere").stdout
    assert nothing.endswith("\nNothing.\n")


def test_a_file_is_only_replaced_with_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`transcript -o` makes a file readable by its owner alone; only `--force` replaces a file."""
    output, path = tmp_path / "t.md", ROOT / "recordings" / "hello.db"
    printed = run("inspect", "transcript", path)
    assert run("inspect", "transcript", path, "-o", output).output == ""
    assert output.read_bytes() == printed.stdout_bytes
    assert stat.S_IMODE(output.stat().st_mode) == 0o600
    assert "exists" in complaint("inspect", "transcript", path, "-o", output)
    monkeypatch.setattr(command, "_LONGEST_ISSUE", 100)
    again = run("inspect", "transcript", path, "-o", output, "--force")
    assert again.exit_code == 0
    assert "an issue on GitHub can have at most 100 characters" in again.stderr


def test_json_has_sections_entries_and_findings(tmp_path: Path) -> None:
    """`transcript --json` prints each section, entry and problem as a line of JSON."""
    conversation = Talk()
    conversation.update("agent_message_chunk", content=text("Hel"))
    conversation.update("agent_message_chunk", content=text("lo\u202e"))
    path, output = write(conversation, tmp_path / "x.jsonl"), tmp_path / "t.jsonl"
    shown = run("inspect", "transcript", "--json", path)
    every = [json.loads(line) for line in shown.stdout.splitlines()]
    at = next(at for at, row in enumerate(every) if row["type"] == "finding")
    entries, findings = every[:at], every[at:]
    with RecordingReader(path) as reader:
        told = [
            {"type": "finding", **converter.unstructure(f)}
            for f in summarize_whole(reader).findings
        ]
    assert findings == told
    assert [(row["type"], row.get("kind")) for row in entries] == [
        ("section", None), ("entry", "request"), ("entry", "request"), ("section", None),
        ("entry", "prompt"), ("entry", "message"), ("entry", "end"),
    ]  # fmt: skip
    assert entries[-2]["blocks"] == [
        {"form": "text", "text": {"start": "Hello\u202e", "end": "", "characters": 6}, "label": ""}
    ]
    assert "\u202e" not in shown.stdout
    run("inspect", "transcript", "--json", path, "-o", output)
    assert output.read_bytes() == shown.stdout_bytes
