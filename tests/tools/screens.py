"""Writes the output of ``log`` on terminals for some recordings, for review.

``python -m tests.tools.screens`` writes `tests/data/screens` anew. Review each changed file
with ``cat``, on a dark terminal and on a light one.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from acp_proxy.cli.explain.log_screen import TimelineLayout, fold_ends
from acp_proxy.cli.screens.styled_text import Screen
from acp_proxy.explain.log.folding import fold
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import (
    MS,
    LogWriter,
    error,
    handshake,
    notification,
    request,
    result,
    text,
    update,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parents[1] / "data" / "screens"
FAMILY = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER}"


def screens(directory: Path) -> Iterator[tuple[str, str]]:
    """Yields the name and the expected contents of each golden file.

    Args:
        directory: a directory for recordings.
    """
    odd = record_odd(directory / "odd.db")
    for path in (ROOT / "recordings" / "tour.db", odd):
        for columns in (80, 160):
            for color in (False, True):
                name = f"{path.stem}-{columns}{'-colour' * color}.txt"
                yield name, screen(path, columns, color=color)
        yield f"{path.stem}-pipe.txt", screen(path, None, color=False)


def screen(path: Path, columns: int | None, *, color: bool) -> str:
    """Returns the lines that ``log`` prints for a recording."""
    with RecordingReader(path) as reader:
        layout = TimelineLayout(Screen(columns, color), reader)
        items = fold(reader.rows(), pauses=layout.pauses)
        folded = items if columns is None else fold_ends(items)
        lines = [line for item in folded for line in layout.lines(item)]
    return "".join(f"{line}\n" for line in lines)


def record_odd(path: Path) -> Path:
    """Records wide characters, control characters, pauses and errors."""
    with LogWriter(path) as recorder:
        handshake(recorder)  # 2, 3
        recorder.to_agent(request(1, "session/new", cwd="/srv/プロジェクト", mcpServers=[]))  # 4
        recorder.t_ns += 12_000 * MS
        recorder.to_client(result(1, sessionId="s-1"))  # 5
        prompt = [text("translate 你好，世界 \x1b[31mnow\x1b[0m\nplease \u202eevil")]
        recorder.to_agent(request(2, "session/prompt", sessionId="s-1", prompt=prompt))  # 6
        recorder.to_client(
            *(
                update("s-1", "agent_thought_chunk", content=text(said))  # 7-9
                for said in ("한국어 ", "de\u0301ja\u0300 vu ", "\x1b]0;title\x07")
            ),
            *(
                update("s-1", "agent_message_chunk", content=text(said))  # 10-15
                for said in ("😀👍🏽🇩🇪 ", "❤\ufe0f ", f"{FAMILY} ", "你好，", "世界", "！" * 60)
            ),
            notification("_x/\x1b[2J你好", sessionId="s-1", a=1),  # 16
        )
        recorder.to_client(request(0, "fs/read_text_file", sessionId="s-1", path="/srv/é.py"))  # 17
        recorder.t_ns += 2_000 * MS
        recorder.to_agent(error(0, -32001, "нет\x9b2J"))  # 18
        recorder.stderr("\x1b[1;33mwarning\x1b[0m: 警告\r\x08")  # 19
        recorder.chunk(2, b"caf\xe9 \x1b[2J\n")  # 20
        recorder.to_client(
            request(
                "ключ",
                "session/request_permission",
                sessionId="s-1",
                toolCall={"toolCallId": "c-1", "title": "Edit 文件.txt", "kind": "edit"},
                options=[{"optionId": "y", "name": "Sí", "kind": "allow_once"}],
            )
        )  # 21
        recorder.t_ns += 42_000 * MS
        recorder.to_client(result(2, stopReason="end_turn"))  # 22
        recorder.to_client(update("s-1", "agent_message_chunk", content=text("too late")))  # 23
        recorder.to_agent([notification("_a"), notification("_b")])  # 24
        recorder.to_agent(
            request(3, "session/prompt", sessionId="s-1", prompt=[text("再见")])
        )  # 25
        recorder.chunk(2, b"half")
        recorder.end(code=1)
        recorder.close()
        recorder.finish()
    return path


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        for name, content in screens(Path(made)):
            (GOLDEN / name).write_text(content, encoding="utf-8")
