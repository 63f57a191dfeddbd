"""The readers of the text form in Python and JavaScript agree with the schema on examples."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastjsonschema
import pytest

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.recording.recording import LOST, Origin, Recording
from acp_proxy.recording.text_form.text_lines import Style
from acp_proxy.recording.text_form.text_reader import _Fired, _Line, is_remark
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
from tests.support.golden_texts import expected, invalid, read, valid, wrong_line
from tests.support.text_recordings import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[4]
SCHEMA = json.loads((ROOT / "docs/text-form.schema.json").read_text(encoding="utf-8"))
PAIRS = sorted((ROOT / "tests/data/pairs").glob("*.jsonl"))
RECORDINGS = sorted((ROOT / "recordings").glob("*.db"))
READER = ROOT / "docs/text-form-reader.mjs"
DRIVER = """
import { readFileSync } from 'node:fs';
const { readTextForm, asJson } = await import(process.argv[1]);
for (const path of process.argv.slice(2)) {
  const read = [];
  let error = null;
  try {
    for (const item of readTextForm(readFileSync(path))) read.push(JSON.parse(asJson(item)));
  } catch (e) {
    error = e.message;
  }
  console.log(JSON.stringify({ path, read, error }));
}
"""


@pytest.fixture(scope="module")
def is_valid() -> Callable[[Any], bool]:
    """Returns a function that validates a line against the schema."""
    validate = fastjsonschema.compile(SCHEMA)

    def check(line: Any) -> bool:
        try:
            validate(line)
        except fastjsonschema.JsonSchemaValueException:
            return False
        return True

    return check


@pytest.fixture(scope="module")
def in_javascript(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Reads text forms with the reader in JavaScript; returns its results by path."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("expected node")
    exported = tmp_path_factory.mktemp("exported")
    for path in RECORDINGS:
        (exported / f"{path.stem}.jsonl").write_bytes(text_of(path))
    paths = [*valid(), *invalid(), *PAIRS, *sorted(exported.iterdir())]
    command = [node, "--input-type=module", "-e", DRIVER, READER.as_uri(), *map(str, paths)]
    process = subprocess.run(command, capture_output=True, check=True, timeout=60)
    return {result["path"]: result for result in map(json.loads, process.stdout.splitlines())}


def test_there_are_twenty_and_more() -> None:
    """The tests have at least twenty text forms as examples."""
    assert len(valid()) >= 12
    assert len(invalid()) >= 8
    folder = expected(valid()[0]).parent
    assert {path.name for path in folder.iterdir()} == {path.name for path in valid()}


@each_case("path", valid(), ids=lambda path: path.stem)
def test_our_reader_returns_the_expected_result(path: Path) -> None:
    """The Python reader of text forms returns the expected result for each example."""
    lines = expected(path).read_text(encoding="utf-8").splitlines()
    assert list(read(path.read_bytes())) == [json.loads(line) for line in lines]


@each_case("path", invalid(), ids=lambda path: path.stem)
def test_our_reader_refuses_wrong_lines(path: Path) -> None:
    """The Python reader of text forms refuses wrong examples at the expected line."""
    number, _ = wrong_line(path)
    with pytest.raises(UnreadableRecording) as caught:
        RecordingReader(path)
    if path.stem == "bad-version":
        assert "at most format 1, got 2" in str(caught.value)
    else:
        error = str(caught.value)
        assert f": line {number}: " in error or ": it looks like a plain log: " in error


def test_javascript_reads_the_same(in_javascript: dict[str, Any]) -> None:
    """The JavaScript reader of text forms finds the same bytes as the Python reader."""
    for path, result in in_javascript.items():
        if Path(path) not in invalid():
            assert result["error"] is None, path
            assert result["read"] == list(read(Path(path).read_bytes())), path


def test_javascript_refuses_the_same(in_javascript: dict[str, Any]) -> None:
    """The JavaScript reader of text forms refuses the same lines as the Python reader."""
    for path in invalid():
        number, _ = wrong_line(path)
        error = in_javascript[str(path)]["error"]
        assert error is not None
        assert error.startswith(f"line {number}: "), path


@pytest.mark.parametrize("path", [*valid(), *PAIRS], ids=lambda path: path.stem)
def test_the_schema_accepts_valid_lines(path: Path, is_valid: Callable[[Any], bool]) -> None:
    """The JSON schema of text forms accepts every valid line."""
    for line in path.read_bytes().splitlines():
        assert is_remark(line) or is_valid(json.loads(line)), line


@pytest.mark.parametrize("path", invalid(), ids=lambda path: path.stem)
def test_the_schema_refuses_wrong_lines(path: Path, is_valid: Callable[[Any], bool]) -> None:
    """The JSON schema of text forms refuses wrong lines."""
    wrong, by_schema = wrong_line(path)
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if number == wrong and by_schema:
            assert not is_valid(json.loads(line))
        elif number != wrong and not is_remark(line):
            assert is_valid(json.loads(line))


def test_the_schema_has_every_member() -> None:
    """The JSON schema of text forms has the same members as the Python reader."""
    kinds_of = SCHEMA["definitions"]
    kinds = ("frame", "event", "fired")
    members = set().union(*(kinds_of[kind]["properties"] for kind in kinds))
    assert members == set(_Line.__struct_fields__)
    assert set(kinds_of["fired"]["properties"]["fired"]["properties"]) == set(
        _Fired.__struct_fields__
    )
    assert list(kinds_of["recording"]["properties"]) == [a.name for a in Recording.__attrs_attrs__]
    assert list(kinds_of["origin"]["properties"]) == [a.name for a in Origin.__attrs_attrs__]
    assert kinds_of["origin"]["properties"]["lost"]["items"]["enum"] == ["answers", *LOST]
    assert kinds_of["frame"]["properties"]["style"]["enum"] == [style.value for style in Style]
