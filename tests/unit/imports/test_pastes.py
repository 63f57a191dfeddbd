"""Text that people paste into bug reports can be imported, or the error says how.

The forms are from public reports, which ``index.json`` lists; the content is ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acp_proxy.store.reader import RecordingReader
from tests.support.text_recordings import run_with

DIRECTORY = Path(__file__).parents[2] / "data" / "foreign_logs" / "pastes"
PASTES = json.loads((DIRECTORY / "index.json").read_text(encoding="utf-8"))
_READ = [paste for paste in PASTES if "refused" not in paste]
_REFUSED = [paste for paste in PASTES if "refused" in paste]


def imported(paste: dict[str, Any], home: Path) -> tuple[int, str]:
    """Imports a pasted text from standard input; returns the exit code and the text on stderr."""
    text = (DIRECTORY / f"{paste['file']}.txt").read_bytes()
    result = run_with(text, "inspect", "import", "-", "--name", "bug", home=home)
    return result.exit_code, result.stderr


def test_the_index_has_every_paste() -> None:
    """The index of the example logs for the tests of `import` names each of the logs."""
    names = [paste["file"] for paste in PASTES]
    assert sorted(names) == sorted(path.stem for path in DIRECTORY.glob("*.txt"))
    assert len(_READ) >= 8


@pytest.mark.parametrize("paste", _READ, ids=[paste["file"] for paste in _READ])
def test_a_paste_is_read(paste: dict[str, Any], tmp_path: Path) -> None:
    """If a pasted log is piped to `import`, each message is recorded with its direction."""
    code, stderr = imported(paste, tmp_path)
    assert code == 0, stderr
    with RecordingReader(tmp_path / "bug.db") as reader:
        origin = reader.recording.origin
        frames = [">" if row["stream"] == "to-agent" else "<" for row in reader.frames()]
    assert origin is not None
    assert origin.source == paste["source"]
    assert sorted({"start", "middle"} & {*origin.lost}) == paste["lost"]
    assert "".join(frames) == paste["frames"]


@pytest.mark.parametrize("paste", _REFUSED, ids=[paste["file"] for paste in _REFUSED])
def test_the_error_says_what_to_change(paste: dict[str, Any], tmp_path: Path) -> None:
    """If `import` cannot read a pasted log, its error is one line that says what to change."""
    code, stderr = imported(paste, tmp_path)
    assert code == 2
    assert stderr == f"acp-proxy: cannot read standard input as a recording: {paste['refused']}\n"
    assert not list(tmp_path.glob("*.db"))
