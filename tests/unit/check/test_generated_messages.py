"""Generated messages that the schemas allow break no rules in a valid conversation."""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING

import pytest
from jsonschema_rs import Draft202012Validator

from acp_proxy.check.check_values import Severity
from acp_proxy.check.checker import Checker
from acp_proxy.explain.message_pass import MessagePass
from acp_proxy.protocol.dialects import V1, V2
from acp_proxy.protocol.jsonrpc import Direction, read
from acp_proxy.recording.recording import FrameRun
from tests.support.example_checker import reader_of
from tests.support.labelled_transcripts import frame
from tests.support.schema_examples import SCHEMAS, Example, conversation, generate
from tests.tools.schemas import of_version

if TYPE_CHECKING:
    from collections.abc import Iterable

    from acp_proxy.explain.findings import Finding
    from acp_proxy.store.reader import RecordingReader

_SEED, _COUNT = 30, 1_000
_SECOND_NS = 10**9
_DIRECTIONS = {"->": Direction.TO_AGENT, "<-": Direction.TO_CLIENT}
TRUE_OF_EXAMPLES = {
    # An older schema allows an empty list, but "options: Available permission options".
    "perm.options-empty",
    # Nor does one forbid a prompt without content, "the blocks that compose the user's message".
    "prompt.empty",
    # "Agents SHOULD include a stopReason when the idle transition ends foreground work".
    "v2.idle-reason",
}
"""Rules that the smallest examples break although the schema allows them."""


@cache
def every_example() -> list[Example]:
    """Returns the generated examples of all versions."""
    return [example for schema in SCHEMAS for example in generate(schema)]


def findings_in(empty: RecordingReader, lines: list[str], dialect: str) -> list[Finding]:
    """Checks a conversation that is fed directly, a second between two messages, without a file.

    Args:
        empty: an empty recording.
        lines: the messages, as `tests.support.example_checker` reads them.
        dialect: their dialect.
    """
    messages = MessagePass(empty, dialect=dialect)
    checker = Checker(empty, dialect, messages=messages)
    for seq, line in enumerate(lines, 1):
        arrow, _, text = line.partition(" ")
        direction, raw, t_ns = _DIRECTIONS[arrow], frame(text), seq * _SECOND_NS
        message = read(raw)
        transition = messages.connection.feed(seq, t_ns, direction, message)
        run = FrameRun(seq, t_ns, direction.value, message.kind.value, raw, seq, t_ns)
        checker.take(run, message, transition)
    return checker.finish().findings


def accusations(examples: Iterable[Example]) -> list[str]:
    """Returns the findings in the examples, without hints and without `TRUE_OF_EXAMPLES`."""
    validators: dict[tuple[object, ...], Draft202012Validator] = {}
    findings = []
    with reader_of([]) as empty:
        for example in examples:
            key = example.schema, example.direction, example.method, example.is_result
            if key not in validators:
                types = of_version(example.schema)["types"]
                validators[key] = Draft202012Validator(
                    {**example.form, "$defs": types}, offline=True
                )
            assert validators[key].is_valid(example.value), example
            dialect = V2 if example.schema.startswith("v2") else V1
            findings += [
                f"{example.schema} {example.method} {finding.rule} by {finding.by}: {finding.text}"
                for finding in findings_in(empty, conversation(example), dialect)
                if finding.severity is not Severity.INFO and finding.rule not in TRUE_OF_EXAMPLES
            ]
    return findings


def test_every_method_and_kind_of_update_has_examples() -> None:
    """The generated messages that test `check` cover every method of every schema version."""
    every = every_example()
    assert len(every) > 10_000
    kinds = {
        example.value["update"]["sessionUpdate"]
        for example in every
        if example.method == "session/update"
    }
    assert {"subagent_update", "session_message", "session_message_chunk"} <= kinds
    methods = {
        (schema, method)
        for schema in SCHEMAS
        for table in (of_version(schema)["params"], of_version(schema)["results"])
        for way in table
        for method in table[way]
    }
    assert {(example.schema, example.method) for example in every} == methods


def test_a_thousand_examples_accuse_nobody() -> None:
    """`check` finds nothing in a thousand generated messages that the schemas of ACP allow."""
    assert accusations(random.Random(_SEED).sample(every_example(), _COUNT)) == []


def test_what_is_not_allowed_is_found() -> None:
    """If a generated `session/new` gets a relative directory, `check` blames the client."""
    example = next(
        example
        for example in every_example()
        if example.method == "session/new" and not example.is_result
    )
    wrong = example._replace(value={**example.value, "cwd": "w/p"})
    (accusation,) = accusations([wrong])
    assert "session.cwd-absolute by client" in accusation


@pytest.mark.soak
@pytest.mark.parametrize("schema", SCHEMAS)
def test_no_example_accuses_anybody(schema: str) -> None:
    """A message that a schema of ACP allows breaks no rule of `check`, whichever members it has."""
    assert accusations(generate(schema)) == []
