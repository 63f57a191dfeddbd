"""`secrets` lists masked values with their places, and never shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_proxy.explain.masked_secrets import MaskedValue, masked_values
from acp_proxy.store.queries.masked_rows import Level
from acp_proxy.store.reader import RecordingReader
from tests.support.planted_secrets import SECRETS, record_planted

if TYPE_CHECKING:
    from pathlib import Path


def values(path: Path) -> list[MaskedValue]:
    """Returns the masked values of a recording."""
    with RecordingReader(path, level=Level()) as reader:
        return list(masked_values(reader))


def test_each_place_of_a_value_is_listed(tmp_path: Path) -> None:
    """`secrets` lists each frame and JSON pointer with a masked value."""
    masked = values(record_planted(tmp_path / "x.db"))
    assert not any(secret in repr(masked) for secret in SECRETS)
    assert all(value.in_file for value in masked)
    places = {(value.seq, value.place, value.pointer) for value in masked if value.kind == "env"}
    assert (4, "to-agent", "/params/mcpServers/*/env/*/value") in places
    assert (6, "to-agent", "/params/prompt/*/text") in places
    assert {place for _, place, pointer in places if pointer is None} == {"stderr", "to-client"}
    assert {value.place for value in masked if value.kind == "key"} >= {"recording", "event"}


def test_what_is_masked_in_the_file_is_told_apart(tmp_path: Path) -> None:
    """`secrets` does not count secrets that were masked during recording as held by the file."""
    path = record_planted(tmp_path / "x.db", redaction="secrets", marker_key="00" * 16)
    masked = values(path)
    assert masked
    assert not any(value.in_file for value in masked)
