"""Makes recordings with prompts that tell `tests/agents/failing_agent.py` how to fail.

Each recording is a short conversation in the text form: tests need hundreds of them quickly.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import LogWriter, handshake, request, result, text, update

if TYPE_CHECKING:
    from collections.abc import Callable

AGENT = [sys.executable, "-IS", str(Path(__file__).parents[1] / "agents" / "failing_agent.py")]

Kinds = dict[str, tuple[str, int]]
WORD, REASON = "WORD", "end_turn"

VERIFIED: Kinds = {
    "clean": ("clean", 0),
    "differs": ("differs", 1),
    "crashes": ("differs", 1),
    "exits": ("differs", 1),
    "broken": ("broken-rules", 1),
    "stalls": ("stalled", 3),
    "killed": ("differs", 1),
    "137": ("differs", 1),
    "lost": ("lost", 3),
    "unrecorded": ("lost", 3),
    "full": ("lost", 3),
    "incomplete": ("incomplete", 3),
    "refused": ("refused", 2),
    "garbage": ("unreadable", 2),
    "cut": ("unreadable", 2),
    "empty": ("unreadable", 2),
    "newer": ("unreadable", 2),
    "nowhere": ("unreadable", 2),
}
"""The result of a verification with ``--check`` for each kind of recording, and its exit code."""
CHECKED: Kinds = {
    **dict.fromkeys(VERIFIED, ("clean", 0)),
    "broken": ("findings", 1),
    **{
        kind: results
        for kind, results in VERIFIED.items()
        if results[0] in ("incomplete", "unreadable")
    },
}
"""The result of a check."""


def base(directory: Path, *, state: str = "complete") -> str:
    """Returns the text form of a short conversation, whose prompt is `WORD`."""
    path = directory / "base.db"
    with LogWriter(path, cwd="/srv/project") as recorder:
        handshake(recorder)
        recorder.to_agent(request(1, "session/new", cwd="/srv/project", mcpServers=[]))
        recorder.to_client(result(1, sessionId="s-1"))
        recorder.to_agent(request(2, "session/prompt", sessionId="s-1", prompt=[text(WORD)]))
        recorder.to_client(
            update("s-1", "agent_message_chunk", content=text("Hello")),
            result(2, stopReason=REASON),
        )
        if state == "complete":
            recorder.end()
            recorder.close()
        recorder.finish()
    with RecordingReader(path, unredacted=True) as reader:
        lines = b"".join(write_text_form(reader)).decode()
    path.unlink()
    assert json.loads(lines.partition("\n")[0])["recording"]["state"] == state
    # The agent says no name, so that it may say what it likes otherwise.
    return lines.replace(',"agentInfo":{"name":"ag","version":"3.4"}', "")


def writers(directory: Path) -> dict[str, Callable[[Path, str], None]]:
    """Returns, for each kind of failure, a function that writes a recording to a path."""
    whole, part = base(directory), base(directory, state="incomplete")

    def conversation(kind: str) -> Callable[[Path, str], None]:
        lines = part if kind == "incomplete" else whole
        word = "[redacted:env:ab12cd34]" if kind == "refused" else kind
        reason = "tired" if kind == "broken" else REASON

        def write(path: Path, name: str) -> None:
            told = lines.replace(WORD, f"{word} {name}").replace(REASON, reason)
            path.write_text(told, encoding="utf-8")

        return write

    newer = whole.replace('"acp_proxy":1', '"acp_proxy":9')
    results = {kind: conversation(kind) for kind in VERIFIED}
    return {
        **results,
        "garbage": lambda path, name: void(path.with_suffix(".db").write_text(f"no {name}\n")),
        "cut": lambda path, name: void(path.write_text(whole[: 60 + len(name)])),
        "empty": lambda path, _: path.with_suffix(".db").touch(),
        "newer": lambda path, _: void(path.write_text(newer)),
        "nowhere": lambda path, name: path.symlink_to(f"no-{name}.jsonl"),
    }


def void(_: object) -> None:
    """Returns None, so that a lambda may end with any expression."""


def write_recordings(
    directory: Path, count: int, kinds: dict[str, tuple[str, int]]
) -> dict[str, tuple[str, int]]:
    """Writes recordings of all kinds in turn, into three subdirectories.

    Returns:
        The expected result of each recording, by its path in the directory.
    """
    directory.mkdir()
    write = writers(directory)
    results = {}
    for number in range(count):
        kind = [*kinds][number % len(kinds)]
        below = directory / f"{number % 3}"
        below.mkdir(exist_ok=True)
        path = below / f"{number:04}-{kind}.jsonl"
        write[kind](path, f"{number:04}")
        (made,) = below.glob(f"{number:04}-*")
        results[str(made.relative_to(directory))] = kinds[kind]
    return results
