"""Takes first inputs from the recordings in the repository and from ``tests/data``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from acp_proxy.store.reader import RecordingReader

ROOT = Path(__file__).parents[2]
RECORDINGS = sorted((ROOT / "recordings").glob("*.db"))
PAIRS = sorted((ROOT / "tests/data/pairs").glob("*.jsonl"))


@cache
def lines() -> tuple[bytes, ...]:
    """Returns lines of all kinds without newlines: a few of each method and shape."""
    by_shape: dict[tuple[object, ...], list[bytes]] = {}
    for path in RECORDINGS:
        with RecordingReader(path) as reader:
            for row in reader.frames():
                key = row["stream"], row["kind"], row["method"], row["newline"]
                by_shape.setdefault(key, []).append(bytes(row["raw"]))
    for path in sorted((ROOT / "tests/data/protocol").glob("messages-*.jsonl")):
        for line in path.read_bytes().splitlines():
            example = json.loads(line)
            message = json.dumps(example["message"], ensure_ascii=False).encode()
            by_shape.setdefault((example["kind"], example.get("method")), []).append(message)
    return tuple(line for same in by_shape.values() for line in sorted(same, key=len)[:2])


@cache
def texts() -> tuple[bytes, ...]:
    """Returns the text forms of small recordings."""
    return tuple(path.read_bytes() for path in PAIRS)
