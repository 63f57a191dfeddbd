"""Nobody is accused for a message that the schemas allow, in a conversation that obeys."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from jsonschema_rs import Draft202012Validator

from acp_proxy.conformance.checker import check
from acp_proxy.conformance.values import Severity
from tests.judged import reader_of
from tests.schema_examples import SCHEMAS, Example, conversation, generate
from tests.schemas import of_version

if TYPE_CHECKING:
    from collections.abc import Iterable

_SEED, _COUNT = 30, 300
TRUE_OF_EXAMPLES = {
    # An older schema allows an empty list, but "options: Available permission options".
    "perm.options-empty",
    # Nor does one forbid a prompt without content, "the blocks that compose the user's message".
    "prompt.empty",
    # "Agents SHOULD include a stopReason when the idle transition ends foreground work".
    "v2.idle-reason",
}
"""What smallest examples break although the schema allows it."""


def accusations(examples: Iterable[Example]) -> list[str]:
    """Checks each example, and returns what is found, but for hints and `TRUE_OF_EXAMPLES`."""
    validators: dict[tuple[object, ...], Draft202012Validator] = {}
    found = []
    for one in examples:
        key = one.schema, one.direction, one.method, one.is_result
        if key not in validators:
            types = of_version(one.schema)["types"]
            validators[key] = Draft202012Validator({**one.form, "$defs": types}, offline=True)
        assert validators[key].is_valid(one.value), one
        with reader_of(conversation(one)) as reader:
            found += [
                f"{one.schema} {one.method} {finding.rule} by {finding.by}: {finding.text}"
                for finding in check(reader).findings
                if finding.severity is not Severity.INFO and finding.rule not in TRUE_OF_EXAMPLES
            ]
    return found


def test_every_method_and_kind_of_update_has_examples() -> None:
    """The generator leaves out no schema, and none of the kinds that accused agents once."""
    every = [one for schema in SCHEMAS for one in generate(schema)]
    assert len(every) > 10_000
    kinds = {
        one.value["update"]["sessionUpdate"] for one in every if one.method == "session/update"
    }
    assert {"subagent_update", "session_message", "session_message_chunk"} <= kinds
    methods = {
        (schema, method)
        for schema in SCHEMAS
        for table in (of_version(schema)["params"], of_version(schema)["results"])
        for way in table
        for method in table[way]
    }
    assert {(one.schema, one.method) for one in every} == methods


def test_three_hundred_examples_accuse_nobody() -> None:
    """Chosen by a fixed seed from all variants and optional members of all versions."""
    every = [one for schema in SCHEMAS for one in generate(schema)]
    assert accusations(random.Random(_SEED).sample(every, _COUNT)) == []


@pytest.mark.soak
@pytest.mark.parametrize("schema", SCHEMAS)
def test_no_example_accuses_anybody(schema: str) -> None:
    """All variants and optional members of a version of the schema."""
    assert accusations(generate(schema)) == []
