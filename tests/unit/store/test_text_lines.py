"""Frames and events have lines in the text form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.text_export import write_text_form
from acp_proxy.store.text_lines import text_lines
from tests.log_writer import record_conversation

if TYPE_CHECKING:
    from pathlib import Path


def test_the_lines_are_those_of_the_export(tmp_path: Path) -> None:
    """Of a database they are those that `inspect export` would write."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        written = [*write_text_form(reader)]
        seqs = [row["seq"] for row in reader.rows()]
        found = text_lines(reader, seqs)
        assert [*found] == seqs
        prompt = next(n for n, line in enumerate(written, 1) if b"session/prompt" in line)
        row = next(row for row in reader.frames() if row["method"] == "session/prompt")
        assert found[row["seq"]] == prompt
        assert text_lines(reader, []) == text_lines(reader, [10**6]) == {}


def test_remarks_of_a_file_count(tmp_path: Path) -> None:
    """Blank lines and comments have lines, too."""
    path = tmp_path / "x.jsonl"
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        header, *rest = write_text_form(reader)
        seqs = [row["seq"] for row in reader.rows()]
    path.write_bytes(b"".join([b"# a remark\n", header, b"\n", *rest[:2], b"#\n", *rest[2:]]))
    with RecordingReader(path) as reader:
        found = text_lines(reader, seqs)
    lines = path.read_bytes().splitlines()
    assert [found[seq] for seq in seqs[:4]] == [4, 5, 7, 8]
    assert found[seqs[-1]] == len(lines)
