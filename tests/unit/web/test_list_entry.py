"""The entry of a recording in the list of the live window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.explain.show.listed_recordings import listed, listed_form
from acp_proxy.web.list_entry import list_entry
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "result", "severity"),
    [
        ("tour", "ended", ""),
        ("crash", "crashed: SIGABRT", "error"),
        ("lost-permission", "client: no answer #11", "error"),
    ],
)
def test_an_entry_says_what_happened_in_the_words_of_the_list(
    name: str, result: str, severity: str
) -> None:
    """In `web`, the list of recordings has the data of `list --json` and the words of `list`."""
    path = DIRECTORY / f"{name}.db"
    entry = list_entry(path, unredacted=False)
    assert entry.items() >= listed_form(*listed([path], unredacted=False)).items()
    assert (entry["result"], entry["severity"]) == (result, severity)
    assert (entry["agent"], entry["client"]) == ("demo-agent 1.0", "demo-client 1.0")
    assert entry["project"] == "acp-proxy-demo"
    assert entry["prompt"]
    assert entry["took"].endswith("s")


def test_an_unreadable_file_has_an_entry_with_its_problem(tmp_path: Path) -> None:
    """In the list of `web`, an unreadable file is shown only with the reason."""
    (tmp_path / "broken.db").write_bytes(b"no database")
    entry = list_entry(tmp_path / "broken.db", unredacted=False)
    assert (entry["result"], entry["severity"]) == ("cannot be read", "error")
    assert "broken.db" in entry["problem"]
    assert entry["agent"] == entry["prompt"] == entry["started_at"] == ""
