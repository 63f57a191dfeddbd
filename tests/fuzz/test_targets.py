"""Runs each fuzzer with a fixed number of examples, the same in every run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz import targets
from tests.fuzz.inputs import inputs
from tests.fuzz.target import StepCounter, Target, Violated
from tests.fuzz.with_hypothesis import fuzz

_NOT_TARGETS = {"target", "targets", "byte_source", "inputs", "scratch", "seeds", "with_hypothesis"}


@pytest.mark.parametrize("name", targets.NAMES)
def test_no_example_violates_a_guarantee(name: str) -> None:
    """On a fixed number of inputs, no fuzz target fails."""
    target = targets.target(name)
    target.check(next(iter(target.seeds())))  # imports do not count as steps

    @settings(max_examples=target.examples, suppress_health_check=list(HealthCheck))
    @given(inputs(target))
    def run(data: bytes) -> None:
        target.run(data)

    run()


@pytest.mark.parametrize("name", targets.NAMES)
def test_a_target_has_seeds_of_its_size(name: str) -> None:
    """Each fuzz target has at least one seed input that is no longer than the target allows."""
    target = targets.target(name)
    assert target.name == name
    assert any(len(seed) <= target.longest for seed in target.seeds())


def test_every_target_is_run() -> None:
    """Every module in tests/fuzz that defines a fuzz target is run."""
    here = {path.stem for path in Path(__file__).parent.glob("[a-z]*.py")}
    machinery = _NOT_TARGETS | {"with_atheris", "test_targets"}
    assert here - machinery == set(targets.NAMES)


def _fails_at_two_quotes(data: bytes) -> None:
    if data.count(b'"') > 1:
        raise ValueError("two quotes")


def test_a_violation_is_found_and_made_small() -> None:
    """A fuzz run finds a planted error and shortens the input that causes it."""
    target = Target("planted", _fails_at_two_quotes, lambda: [b"ab", b'{"c'])
    outcome = fuzz(target, lambda: False)
    assert outcome.crash is not None
    assert outcome.crash.count(b'"') == 2
    assert "ValueError: two quotes" in outcome.error


def test_steps_are_bounded() -> None:
    """A fuzz target fails if an input causes too many function calls for its length."""
    with StepCounter(1000) as counter:
        sum(len(word) for word in ("a", "b"))
    assert 2 < counter.steps < 20
    target = Target("slow", lambda data: [len(data) for _ in range(500)].clear(), lambda: [b"a"],
                    steps=100, steps_per_byte=1)  # fmt: skip
    with pytest.raises(Violated, match="more than 101 steps"):
        target.run(b"x")
