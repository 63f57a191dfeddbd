"""The lines of a results file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve

from acp_proxy.batches.results import (
    FirstDivergence,
    JobVerdict,
    ResultsHeader,
    VerdictKind,
    digest_of,
    header_of,
    line_of,
    verdict_of,
    worst_exit,
)

HEADER = ResultsHeader("0.1.0", "verify", "d", ("--check", "--", "agent"))
VERDICT = JobVerdict("a/b.db", "verify", "d", 0, VerdictKind.CLEAN, 0.25)
DIFFERS = evolve(
    VERDICT,
    exit=1,
    kind=VerdictKind.DIFFERS,
    first_divergence=FirstDivergence(None, "\ud800 \x1b é"),
    error="a\nb",
)


def test_a_header_is_read_as_it_was_written() -> None:
    """Its first member says what kind of file it is."""
    line = line_of(HEADER)
    assert line.startswith(b'{"acp_proxy_results":1,')
    assert header_of(line) == HEADER


@pytest.mark.parametrize("verdict", [VERDICT, DIFFERS])
def test_a_verdict_is_read_as_it_was_written(verdict: JobVerdict) -> None:
    """It is one line of ASCII, whatever text is in it."""
    line = line_of(verdict)
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert verdict_of(line) == verdict


def test_members_of_other_versions_are_passed_over() -> None:
    """A later version may add some, and an earlier one had the attempts and the shards."""
    others = {"later": {"a": 1}, "attempt": 2, "shard": "3/7", "shards": [], "total": 9}
    for line, read in ((line_of(HEADER), header_of), (line_of(DIFFERS), verdict_of)):
        assert read(json.dumps({**json.loads(line), **others}).encode()) == read(line)


def test_an_agent_that_an_earlier_version_calls_killed_differs() -> None:
    """Its kind was one of its own, and files that name it are continued."""
    assert verdict_of(line_of(DIFFERS).replace(b'"differs"', b'"killed"')) == DIFFERS


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "other"},
        {"exit": "x"},
        {"seconds": None},
        {"first_divergence": [1]},
        {"first_divergence": {}},
        {"findings": 3},
        {"findings": [{"rule": "rpc.id"}]},
    ],
)
def test_a_line_that_is_no_verdict_is_refused(changed: dict[str, Any]) -> None:
    """The error says in words what was expected."""
    members = {**json.loads(line_of(VERDICT)), **changed}
    with pytest.raises(ValueError, match=r"expected a (verdict|finding)"):
        verdict_of(json.dumps(members).encode())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"x\n", "expected a header"),
        (b"SQLite\xec\0", "expected a header"),
        (b"[" * 100_000, "expected a header"),
        (b"[]", "expected a header"),
        (b'{"acp_proxy_results":1}', "expected a header"),
        (line_of(HEADER).replace(b'results":1', b'results":2'), "format 2"),
    ],
)
def test_a_line_that_is_no_header_is_refused(line: bytes, words: str) -> None:
    """The header of a later format is refused as well."""
    with pytest.raises(ValueError, match=words):
        header_of(line)


@pytest.mark.parametrize(
    ("exits", "worst"), [((), 0), ((0, 0), 0), ((0, 1), 1), ((1, 3, 0), 3), ((3, 2, 1), 2)]
)
def test_a_batch_ends_as_its_worst_verdict(exits: tuple[int, ...], worst: int) -> None:
    """The exit code 2 comes before 3, and 3 before 1."""
    assert worst_exit(exits) == worst


def test_the_digest_depends_on_each_word() -> None:
    """It depends on where a word ends as well."""
    words = [("verify", ["a", "b"]), ("check", ["a", "b"]), ("verify", ["ab"]), ("verify", ["b"])]
    assert len({digest_of(*one) for one in words}) == len(words)
