"""The golden files of the text form, and the expected result of reading each file.

``python -m tests.support.golden_texts`` writes the expected results of the valid files anew.
"""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import asdict

from acp_proxy.recording.text_form.text_header import read_header
from acp_proxy.recording.text_form.text_reader import FrameLine, LineReader, is_remark

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1] / "data/text_form"
_SAFE = 1 << 53
_BIG = ("wall", "origin", "since", "bytes", "to-agent", "to-client", "stderr")


def valid() -> list[Path]:
    """Returns the golden files that every reader of the text form must accept."""
    return [path for path in sorted(ROOT.glob("*.jsonl")) if not path.name.startswith("bad-")]


def invalid() -> list[Path]:
    """Returns the golden files that every reader of the text form must refuse."""
    return sorted(ROOT.glob("bad-*.jsonl"))


def wrong_line(path: Path) -> tuple[int, bool]:
    """Returns the number of the wrong line, and whether the JSON Schema refuses the line."""
    remark = path.read_text(encoding="utf-8").partition("\n")[0]
    match = re.fullmatch(r"# Line (\d+) is wrong(, which only a reader finds)?: .*\.", remark)
    assert match, remark
    return int(match[1]), match[2] is None


def expected(path: Path) -> Path:
    """Returns the file with the expected result for a golden file: a line of JSON for each line."""
    return path.parent / "expected" / path.name


def read(text: bytes) -> Iterator[dict[str, Any]]:
    """Yields each line of a text form as values: bytes in Base64, large integers as strings."""
    lines = (line for line in io.BytesIO(text) if not is_remark(line))
    head = next(lines)
    given = json.loads(head)["recording"].keys() | {"state", "command"}
    row = {
        name: value
        for name, value in asdict(read_header(head, Path("x.jsonl"))).items()
        if name in given
    }
    row["command"] = json.loads(row["command"])
    if "origin" in row:
        for name in ("lost", "named_answers"):
            row["origin"][name] = list(row["origin"][name])
    yield {"recording": {name: _number(value) for name, value in row.items()}}
    reader = LineReader()
    for line in map(reader.read, lines):
        item = line._asdict()
        if isinstance(line, FrameLine):
            item["newline"] = line.newline.decode()
            for name in ("t_ns", "lag_ns"):
                item[name] = str(item[name])
            item["raw"] = _base64(line.raw)
        elif "kind" in item:
            data = json.loads(item["data"])
            data |= {name: _number(data[name]) for name in _BIG if name in data}
            item = {"seq": item["seq"], "t_ns": str(item["t_ns"]), "event": item["kind"]}
            item["data"] = data
        else:
            seq = item.pop("seq")
            for name in ("received", "delivered"):
                item[name] = _base64(item[name])
            item["late_ns"] = None if item["late_ns"] is None else str(item["late_ns"])
            item = {"seq": seq, "fired": item}
        yield item


def _base64(raw: bytes | None) -> str | None:
    return None if raw is None else base64.b64encode(raw).decode()


def _number(value: Any) -> Any:
    return str(value) if isinstance(value, int) and abs(value) >= _SAFE else value


def main() -> None:
    """Writes the expected results of all valid golden files."""
    for path in valid():
        lines = (json.dumps(item, ensure_ascii=False) for item in read(path.read_bytes()))
        expected(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
