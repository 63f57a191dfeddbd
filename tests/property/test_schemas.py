"""The schema check accepts any message, and what is valid in a version is valid in its dialect."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.check.schema_check import DialectSchema
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from tests.support import protocol_documents
from tests.support.schema_merging import merged
from tests.support.strategies import json_values
from tests.tools.schemas import of_version

if TYPE_CHECKING:
    from acp_proxy.protocol.jsonrpc import Direction

SCHEMAS = {dialect: DialectSchema.of_dialect(dialect) for dialect in (V1, V2, DRAFT)}
EXAMPLES = [
    *protocol_documents.official(),
    *protocol_documents.schemas(),
    *protocol_documents.draft(),
]
BODIES = [
    (example.direction, example.method, "params" in example.message, body)
    for example in EXAMPLES
    if isinstance(body := example.message.get("params", example.message.get("result")), dict)
]
WORDS = ["type", "content", "sessionUpdate", "state", "stopReason", "outcome", "mode", "_meta", "x"]
VALUES = json_values | st.sampled_from(["text", "form", "idle", "end_turn", "selected", {}, []])


@st.composite
def bodies(draw: st.DrawFn) -> tuple[Direction, str, bool, Any]:
    """Draws the params or the result of an example, with a few changes."""
    direction, method, is_params, body = draw(st.sampled_from(BODIES))
    box = {"": copy.deepcopy(body)}
    for _ in range(draw(st.integers(0, 3))):
        inner, key = draw(st.sampled_from([*places(box)]))
        match draw(st.sampled_from(["set", "drop", "add"])):
            case "set":
                inner[key] = draw(VALUES)
            case "drop" if inner is not box and isinstance(inner, dict):
                del inner[key]
            case "add" if isinstance(inner[key], dict):
                inner[key][draw(st.sampled_from(WORDS))] = draw(VALUES)
            case _:
                pass
    return direction if is_params else direction.other, method, is_params, box[""]


def places(value: Any) -> Any:
    """Yields all places within a value, each as its container and its key."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in [*keys]:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


@cache
def types_of(name: str) -> DialectSchema:
    """Returns the schema of a single version of the protocol."""
    return DialectSchema(json.dumps(merged([of_version(name)])))


@pytest.mark.parametrize(("dialect", "name"), [(V1, "v1"), (V1, "v1-0.18.2"), (V2, "v2-unstable")])
@given(body=bodies())
def test_a_message_of_a_version_fits_its_dialect(
    dialect: str, name: str, body: tuple[Direction, str, bool, Any]
) -> None:
    """A message that is valid in one version of ACP passes the schema check of its dialect."""
    direction, method, is_params, value = body
    types = types_of(name)
    if types.knows(direction, method, is_result=not is_params):
        alone = types.compare(direction, method, not is_params, value)
        together = SCHEMAS[dialect].compare(direction, method, not is_params, value)
        assert together.fits or not alone.fits


METHODS = sorted({(direction, method) for direction, method, _, _ in BODIES})


@pytest.mark.parametrize("dialect", [*SCHEMAS])
@given(method=st.sampled_from(METHODS), is_result=st.booleans(), value=json_values)
def test_any_json_is_judged(
    dialect: str, method: tuple[Direction, str], is_result: bool, value: Any
) -> None:
    """The schema check of `check` judges any JSON without an exception."""
    comparison = SCHEMAS[dialect].compare(*method, is_result, value)
    for problem in comparison.problems:
        assert problem.pointer.startswith("/result" if is_result else "/params")
        assert len(problem.got) < 300


@pytest.mark.parametrize("dialect", [*SCHEMAS])
@given(body=bodies())
def test_any_change_of_an_example_is_judged(
    dialect: str, body: tuple[Direction, str, bool, Any]
) -> None:
    """The schema check of `check` judges any changed example of ACP without an exception."""
    direction, method, is_params, value = body
    SCHEMAS[dialect].compare(direction, method, not is_params, value)
