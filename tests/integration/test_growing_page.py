"""A report page that loads block by block equals a page that is loaded at once."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.report.data_blocks import report_blocks
from acp_proxy.report.report_model import ReportOptions
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import MS, LogWriter, handshake, request, result, text, update
from tests.support.npm_packages import ROOT
from tests.support.shipped_recordings import SHIPPED
from tests.support.text_recordings import text_of
from tests.tools import front_end_checks as checks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BLOCKS = 10
ODD = ROOT / "tests/data/filters/odd.jsonl"
ALL = [path.stem for path in SHIPPED]


@pytest.mark.parametrize("names", [("hang", "tour"), pytest.param(ALL, marks=pytest.mark.soak)])
def test_a_page_that_grows_equals_one_built_at_once(
    npm_packages: Path, tmp_path: Path, names: Sequence[str]
) -> None:
    """While a report page loads, it equals a page that is made of the data loaded so far."""
    texts = {path.stem: text_of(path) for path in (*SHIPPED, ODD) if path.stem in (*names, "odd")}
    texts["generated"] = text_of(_record(tmp_path / "x.db"))
    given = [{"name": name, "stages": [*_stages(whole)]} for name, whole in texts.items()]
    command = [checks.node(npm_packages), str(checks.CHECKED / "growth.mjs")]
    completed = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stderr
    answer: dict[str, Any] = json.loads(completed.stdout)
    assert answer["differences"] == []
    assert answer["counts"].keys() == texts.keys()
    generated = answer["counts"]["generated"]
    assert generated["runs"] >= BLOCKS // 2, "runs that go on over the border of two blocks"
    assert generated["late"] >= BLOCKS, "answers that come in a later block"


def _stages(whole: bytes) -> Iterator[dict[str, str]]:
    """Yields the data of a page for the first tenth of a recording, two tenths, and so on."""
    lines = whole.splitlines(keepends=True)
    ends = [1 + (len(lines) - 1) * n // BLOCKS for n in range(1, BLOCKS + 1)]
    assert all(a < b for a, b in pairwise([1, *ends]))
    for end in ends:
        with RecordingReader(Path("x.jsonl"), iter(lines[:end])) as reader:
            made = report_blocks(reader, ReportOptions())
            yield {block.name: b"".join(block.parts).decode() for block in made}


def _record(path: Path) -> Path:
    """Records three parallel sessions with long runs, late answers, a batch and pauses."""
    with LogWriter(path) as recorder:
        handshake(recorder)
        recorder.to_agent(
            *(request(n, "session/new", cwd="/srv", mcpServers=[]) for n in (1, 2, 3))
        )
        # The second session's name is the beginning of the first one's.
        for n, session in enumerate(("s-10", "s-1", "s-2"), 1):
            _tell(recorder, n, session)
        for n, session in enumerate(("s-10", "s-1", "s-2"), 1):
            recorder.to_client(result(10 + n, stopReason="end_turn"))
            recorder.to_client(update(session, "agent_message_chunk", content=text("too late")))
        recorder.to_agent(request(20, "session/prompt", sessionId="s-1", prompt=[text("again")]))
        recorder.t_ns += 7_000 * MS
        recorder.to_client(update("s-1", "agent_message_chunk", content=text("hm")))
        recorder.end()
        recorder.close()
        recorder.finish()
    return path


def _tell(recorder: LogWriter, n: int, session: str) -> None:
    recorder.to_client(result(n, sessionId=session))
    recorder.to_agent(request(10 + n, "session/prompt", sessionId=session, prompt=[text("go")]))
    recorder.to_client(request(100 + n, "terminal/create", sessionId=session, command="ls"))
    words = ("one ", "two ", "three ", "word")
    for said in range(16):
        chunk = text(words[min(said % 8, 3)])
        recorder.to_client(update(session, "agent_message_chunk", content=chunk))
    recorder.t_ns += 6_000 * MS
    call = {"toolCallId": f"c{n}", "title": "Read", "status": "pending"}
    recorder.to_client(update(session, "tool_call", **call))
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    ask = {"sessionId": session, "toolCall": call, "options": options}
    recorder.to_client(request(200 + n, "session/request_permission", **ask))
    for said in range(12):
        thought = text(words[said % 4])
        recorder.to_client(update(session, "agent_thought_chunk", content=thought))
    chosen = {"outcome": {"outcome": "selected", "optionId": "y"}}
    if n == 2:  # both answers in one batch
        recorder.to_agent([result(100 + n, terminalId="t"), result(200 + n, **chosen)])
    else:
        recorder.to_agent(result(100 + n, terminalId=f"t{n}"), result(200 + n, **chosen))
    recorder.to_client(update(session, "tool_call_update", toolCallId=f"c{n}", status="failed"))
