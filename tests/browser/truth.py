"""Compares the data of a report page with the command line and with the database."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import sqlite3
from typing import TYPE_CHECKING, Any

from attrs import frozen

from tests.support.captures import load
from tests.support.command_line import run
from tests.support.log_writer import LogWriter
from tests.unit.explain.show.test_checks import play

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.watching import Visit

READ_ALL = """async (blocks) => {
  const own = window.acpReport.recording;
  const source = { ...own.source, bytes: async (name) => {
    const data = Uint8Array.from(atob(blocks[name]), (char) => char.charCodeAt(0));
    const inflated = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(inflated).arrayBuffer());
  } };
  const recording = blocks === null ? own : await own.constructor.read(source);
  const base64 = (bytes) => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) {
      text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    }
    return btoa(text);
  };
  const columns = ["request_seq", "response_seq", "latency_ns", "length"];
  const numbers = Object.fromEntries(columns.map((name) => [name, recording.numbers(name)]));
  const frames = [], lines = [], texts = [], exchanges = [];
  for (let row = 0; row < recording.rows; row++) {
    frames.push(await recording.frame(row));
    lines.push(base64(await recording.line(row)));
    texts.push((await recording.cells(row)).text);
    exchanges.push(columns.map((name) => numbers[name].at(row)));
  }
  return JSON.stringify({ frames, lines, texts, exchanges, meta: recording.meta }); // NaN is null
}"""
BLOCK = re.compile('<script type="application/octet-stream" id="([a-z]+[0-9]*)">([^<]*)</script>')
COLUMNS = (
    "seq", "t_ns", "t_first_ns", "stream", "kind", "method", "rpc_id", "exchange", "session",
    "turn", "tool_call", "terminal", "size", "newline", "delivered", "parse_error", "fault",
)  # fmt: skip


@frozen
class Told:
    """All data of a recording that a report page contains."""

    frames: list[dict[str, Any]]
    """Frames and events, without their lines."""
    lines: list[bytes]
    """The lines of frames without newlines, and the data of events."""
    texts: list[str]
    exchanges: list[list[int | None]]
    """For each row, the frames of its request and its answer, the latency, and the length."""
    meta: dict[str, Any]


def told(visit: Visit, path: Path | None = None) -> Told:
    """Returns the data of a report page: of an open page, or of a file.

    Args:
        visit: the page.
        path: a file to read instead of the open page; to open it would take longer.
    """
    blocks = None if path is None else dict(BLOCK.findall(path.read_text(encoding="utf-8")))
    told = json.loads(visit.ask(READ_ALL, blocks))
    return Told(**{**told, "lines": [base64.b64decode(line) for line in told["lines"]]})


def report(recording: Path, directory: Path, *words: str) -> Path:
    """Makes the report page of a recording, and returns its path."""
    path = directory / f"{recording.stem}.html"
    result = run("inspect", "report", recording, *words, "-o", path)
    assert result.exit_code == 0, result.output
    return path


def database_of(path: Path, directory: Path) -> Path:
    """Returns the database of a recording; makes it if there is only a text form or a capture."""
    if path.suffix == ".db":
        return path
    made = directory / f"{path.parent.name}-{path.name.partition('.jsonl')[0]}.db"
    if (path.parent / "README.md").exists():
        result = run("inspect", "import", path, "-o", made)
        assert result.exit_code == 0, result.output
    else:
        with LogWriter(made) as recorder:
            play(load(path), recorder)
            recorder.finish()
    return made


def said(*words: str | Path) -> list[dict[str, Any]]:
    """Returns the JSON objects that a command of `inspect` prints."""
    return [json.loads(line) for line in run("inspect", *words, "--json").stdout.splitlines()]


def assert_truth(told: Told, recording: Path) -> None:
    """Asserts that each row of a report page agrees with `log` and with the database."""
    assert_rows(told, recording)
    assert_lines(told, recording)
    assert_texts(told, recording)
    assert_database(told, recording)


def assert_rows(told: Told, recording: Path) -> None:
    """Asserts that the frames and events of a report page are those of `log --json`."""
    rows = said("log", recording)
    data = [json.loads(line) for line, row in zip(told.lines, rows, strict=True) if "event" in row]
    assert data == [row["data"] for row in rows if "event" in row]
    apart = ("message", "text", "base64", "data")
    assert told.frames == [{k: v for k, v in row.items() if k not in apart} for row in rows]


def assert_lines(told: Told, recording: Path) -> None:
    """Asserts that the bytes of all frames on a report page are those of `log --raw`."""
    pairs = zip(told.frames, told.lines, strict=True)
    frames = [(frame, line) for frame, line in pairs if "stream" in frame]
    sent = b"".join(line + frame["newline"].encode() for frame, line in frames)
    assert sent == run("inspect", "log", recording, "--raw").stdout_bytes
    assert [len(line) for line in told.lines] == [row[3] for row in told.exchanges]


def assert_texts(told: Told, recording: Path) -> None:
    """Asserts that the text of each row on a report page is the end of its line in `log`."""
    lines = run("inspect", "log", recording, "--no-fold").stdout.splitlines()
    shown = [line for line in lines if re.match(" *[0-9]+ ", line)]  # not messages of a batch
    for text, line in zip(told.texts, shown, strict=True):
        assert line.endswith(text.rstrip())
    assert sum(map(bool, told.texts)) > len(lines) / 2


def assert_database(told: Told, recording: Path) -> None:
    """Asserts that the rows of a report page are those of the database, except masked lines."""
    with contextlib.closing(sqlite3.connect(recording)) as database:
        frames = database.execute(f"SELECT {', '.join(COLUMNS)}, raw FROM frames").fetchall()
        events = database.execute("SELECT seq, t_ns, kind, data FROM events").fetchall()
        sql = "SELECT request_seq, response_seq, latency_ns FROM exchanges"
        exchanges = database.execute(sql).fetchall()
    rows = dict(zip((row["seq"] for row in told.frames), told.frames, strict=True))
    assert set(rows) == {row[0] for row in (*frames, *events)}
    lines = dict(zip(rows, told.lines, strict=True))
    for *values, raw in frames:
        row = dict(zip(COLUMNS, values, strict=True))
        if lines[row["seq"]] != raw:
            assert told.meta["masked"], row
            row["size"] = rows[row["seq"]]["size"]
        assert rows[row["seq"]] == row
    for seq, t_ns, kind, _ in events:
        assert rows[seq] == {"seq": seq, "t_ns": t_ns, "event": kind}
    pairs = dict(zip(rows, told.exchanges, strict=True))
    for asked, answered, latency in exchanges:
        assert pairs[asked][1] == answered
        if answered is not None:
            assert pairs[answered][0] == asked
            assert pairs[answered][2] == latency
