"""Any message can be judged, and the explanation of a verdict agrees with the validator."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from acp_proxy.conformance.closed_types import closed
from acp_proxy.conformance.draft_types import DRAFT_TYPES
from acp_proxy.conformance.message_types import MessageTypes, packaged
from acp_proxy.conformance.schema_check import SchemaSet
from acp_proxy.conformance.schema_problems import Explainer
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from tests import documents
from tests.schemas import FILES
from tests.strategies import json_values

if TYPE_CHECKING:
    from acp_proxy.protocol.peers import Direction

SETS = {dialect: SchemaSet.of_dialect(dialect) for dialect in (V1, V2, DRAFT)}
EXAMPLES = [*documents.official(), *documents.schemas(), *documents.draft()]
BODIES = [
    (example.direction, example.method, "params" in example.message, body)
    for example in EXAMPLES
    if isinstance(body := example.message.get("params", example.message.get("result")), dict)
]
WORDS = ["type", "content", "sessionUpdate", "state", "stopReason", "outcome", "mode", "_meta", "x"]
VALUES = json_values | st.sampled_from(["text", "form", "idle", "end_turn", "selected", {}, []])


@st.composite
def bodies(draw: st.DrawFn) -> tuple[Direction, str, bool, Any]:
    """Draws params or a result of an example, changed in a few places."""
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
    """Yields each place within a value, as the container and the key."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in [*keys]:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


@cache
def validators(
    name: str, part: str, direction: Direction, method: str
) -> tuple[Any, Explainer, Draft202012Validator, Draft202012Validator] | None:
    """Returns the type of params or a result, its explainer, and its open and closed validators."""
    types: MessageTypes = DRAFT_TYPES if name == DRAFT else packaged(name)
    form = types.of(direction, method, part == "result")
    if form is None:
        return None
    is_open, is_closed = (
        Draft202012Validator({**form, "$defs": of}, offline=True)
        for of in (dict(types.types), closed(types.types))
    )
    return form, Explainer(types.types), is_open, is_closed


@pytest.mark.parametrize("name", [*FILES, DRAFT])
@given(body=bodies())
def test_the_explanation_agrees_with_the_validator(
    name: str, body: tuple[Direction, str, bool, Any]
) -> None:
    """The explainer finds problems exactly if the validator does, and names a place for each."""
    direction, method, is_params, value = body
    part = "params" if is_params else "result"
    found = validators(name, part, direction, method)
    if found is None:
        return
    form, explainer, is_open, is_closed = found
    problems = explainer.problems(form, value, (part,))
    assert (problems == []) == is_open.is_valid(value)
    for problem in problems:
        assert problem.pointer.startswith(f"/{part}")
        assert str(problem).isascii() or not value_is_ascii(value)
    if is_closed.is_valid(value):
        assert explainer.extra(form, value, (part,)) == []


def value_is_ascii(value: Any) -> bool:
    """Whether a value contains only ASCII; pointers contain member names without escapes."""
    return json.dumps(value, ensure_ascii=False).isascii()


METHODS = sorted({(direction, method) for direction, method, _, _ in BODIES})


@pytest.mark.parametrize("dialect", [*SETS])
@given(method=st.sampled_from(METHODS), is_result=st.booleans(), value=json_values)
def test_any_json_is_judged(
    dialect: str, method: tuple[Direction, str], is_result: bool, value: Any
) -> None:
    """Any JSON is judged without raising, and long values are not quoted in full."""
    schemas = SETS[dialect]
    judge = schemas.result if is_result else schemas.params
    for problem in judge(*method, value):
        assert len(problem.found) < 300
    schemas.extra(*method, is_result, value)


@pytest.mark.parametrize("dialect", [*SETS])
@given(body=bodies())
def test_any_change_of_an_example_is_judged(
    dialect: str, body: tuple[Direction, str, bool, Any]
) -> None:
    """A changed example is judged without raising."""
    direction, method, is_params, value = body
    schemas = SETS[dialect]
    judge = schemas.params if is_params else schemas.result
    judge(direction, method, value)
    schemas.extra(direction, method, not is_params, value)
