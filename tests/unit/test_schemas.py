"""The schema files of the package are those that `make schemas` makes from pinned packages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.check.schema_check import DIRECTORY, DialectSchema
from acp_proxy.protocol.dialects import DRAFT
from tests.support.cases import each_case
from tests.support.schema_examples import generate
from tests.tools.schemas import (
    DIALECTS,
    ENUMERATED,
    FILES,
    FORMER,
    INTEGRITY,
    PACKAGE,
    REQUIRED,
    VERSIONS,
    differences,
    enumerated,
    of_dialect,
    of_version,
    pinned,
    required_params,
    written,
)

NAMES = [*FILES, *FORMER]


def test_every_schema_file_is_used() -> None:
    """Each schema file of the package is named in the tables of versions and dialects."""
    assert {path.stem for path in VERSIONS.iterdir()} == {*NAMES}
    assert {name for names in DIALECTS.values() for name in names} == {*NAMES}
    assert {path.stem for path in DIRECTORY.iterdir()} == {*DIALECTS, DRAFT}
    assert {version for version, _ in FORMER.values()} == {*INTEGRITY}


@each_case("name", NAMES)
def test_a_file_says_what_it_was_made_of(name: str) -> None:
    """Each schema file in the tests' data names the ACP package and version of its source."""
    version, file = FORMER.get(name) or (pinned()[0], FILES[name])
    types = of_version(name)
    assert (types["source"], types["version"]) == (f"{PACKAGE} {file}", version)
    assert len(types["sha256"]) == 64


@each_case("name", NAMES)
def test_a_file_has_no_prose(name: str) -> None:
    """No schema file that the tool for schemas has written contains descriptions."""
    data = (VERSIONS / f"{name}.json").read_bytes()
    assert written(json.loads(data)) == data
    assert b'"description":"' not in data
    assert b'"x-side"' not in data


def test_what_requests_require_is_what_the_types_say() -> None:
    """The package's list of required params has exactly those that the schema files require."""
    assert REQUIRED.read_text() == required_params()


def test_words_that_stay_in_private_text_are_those_that_types_enumerate() -> None:
    """The words that masking keeps in private text are the enumerated words of ACP's schemas."""
    assert ENUMERATED.read_text() == enumerated()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_package_has_the_types_of_all_versions(dialect: str) -> None:
    """The package's schema file of a dialect has the types of all versions of the dialect."""
    assert (DIRECTORY / f"{dialect}.json").read_bytes() == written(of_dialect(dialect))


@each_case("name", NAMES)
def test_each_message_of_a_version_fits_its_dialect(name: str) -> None:
    """A message that the schema of an ACP version allows is valid in its dialect's schema."""
    (dialect,) = (item for item, names in DIALECTS.items() if name in names)
    schema = DialectSchema.of_dialect(dialect)
    assert [
        example
        for example in generate(name)
        if not schema.compare(*example[1:4], example.value).fits
    ] == []


def test_differences_are_found() -> None:
    """The tool that makes our schema files reports our types that differ from ACP's schema."""
    form = {"$ref": "#/$defs/A"}
    types: dict[str, Any] = {
        "params": {"to-agent": {"session/new": form}},
        "results": {},
        "types": {"A": {}},
    }
    assert differences({"$defs": {"A": {}}}, types) == []
    assert differences({"$defs": {"A": {"required": ["cwd"]}}}, types)
