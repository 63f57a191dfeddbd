"""The types of the package are those that `make schemas` derives from the pinned packages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.conformance.message_types import DIRECTORY, packaged
from tests.schemas import FILES, FORMER, INTEGRITY, PACKAGE, differences, pinned, written

NAMES = [*FILES, *FORMER]


def test_every_file_is_made() -> None:
    """And no other is in the directory."""
    assert {path.stem for path in DIRECTORY.iterdir()} == {*NAMES}
    assert {version for version, _ in FORMER.values()} == {*INTEGRITY}


@pytest.mark.parametrize("name", NAMES)
def test_a_file_says_what_it_was_made_of(name: str) -> None:
    """After another version is pinned, `make schemas` has to be run."""
    version, file = FORMER.get(name) or (pinned()[0], FILES[name])
    types = packaged(name)
    assert (types.source, types.version) == (f"{PACKAGE} {file}", version)
    assert len(types.sha256) == 64


@pytest.mark.parametrize("name", NAMES)
def test_a_file_has_no_prose(name: str) -> None:
    """It is minified, and each type is used."""
    data = (DIRECTORY / f"{name}.json").read_bytes()
    assert written(json.loads(data)) == data
    assert b'"description":"' not in data
    assert b'"x-side"' not in data


def test_differences_are_found() -> None:
    """Where the derived types would judge an example in another way."""
    form = {"$ref": "#/$defs/A"}
    types: dict[str, Any] = {
        "params": {"to-agent": {"session/new": form}},
        "results": {},
        "types": {"A": {}},
    }
    assert differences({"$defs": {"A": {}}}, types) == []
    assert differences({"$defs": {"A": {"required": ["cwd"]}}}, types)
