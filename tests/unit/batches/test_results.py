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
    ShardCount,
    VerdictKind,
    digest_of,
    header_of,
    line_of,
    verdict_of,
    worst_exit,
)

HEADER = ResultsHeader("0.1.0", "verify", "d", ("--check", "--", "agent"), "3/7", 143, 1000)
VERDICT = JobVerdict("a/b.db", "verify", "d", 0, VerdictKind.CLEAN, 0.25)
DIFFERS = evolve(
    VERDICT,
    exit=1,
    kind=VerdictKind.DIFFERS,
    first_divergence=FirstDivergence(None, "\ud800 \x1b é"),
    findings=({"rule": "rpc.id"},),
    error="a\nb",
)


@pytest.mark.parametrize(
    "header",
    [
        HEADER,
        evolve(HEADER, shards=(ShardCount("3/7", 143, 120),)),
        evolve(HEADER, versions=("0.1.0", "0.2.0")),
    ],
)
def test_a_header_is_read_as_it_was_written(header: ResultsHeader) -> None:
    """Its first member says what kind of file it is."""
    line = line_of(header)
    assert line.startswith(b'{"acp_proxy_results":1,')
    assert header_of(line) == header


@pytest.mark.parametrize("verdict", [VERDICT, DIFFERS])
def test_a_verdict_is_read_as_it_was_written(verdict: JobVerdict) -> None:
    """It is one line of ASCII, whatever text is in it."""
    line = line_of(verdict)
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert verdict_of(line) == verdict


def test_members_of_a_later_version_are_passed_over() -> None:
    """In both kinds of line."""
    for line, read in ((line_of(HEADER), header_of), (line_of(DIFFERS), verdict_of)):
        later = json.dumps({**json.loads(line), "later": {"a": 1}}).encode()
        assert read(later) == read(line)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"kind": "other"}, "'other' is not a valid VerdictKind"),
        ({"kind": None}, "None is not a valid VerdictKind"),
        ({"exit": 4}, "expected an exit from 0 to 3, got 4"),
        ({"exit": "0"}, "expected an exit from 0 to 3, got '0'"),
        ({"recording": 1}, "expected str for recording, got 1"),
        ({"seconds": "x"}, "expected float for seconds, got 'x'"),
        ({"seconds": 1e308}, "expected 0 to 2.53 for seconds, got 1e.308"),
        ({"seconds": float("nan")}, "expected 0 to 2.53 for seconds, got nan"),
        ({"broken": -1}, "expected 0 to 2.53 for broken, got -1"),
        ({"broken": 10**4000}, "expected 0 to 2.53 for broken, got 10000"),
        ({"first_divergence": [1]}, "expected an object, got \\[1\\]"),
        ({"first_divergence": {}}, "expected these members as well: 'seq' and 'text'"),
        ({"findings": 3}, "expected a list for findings, got 3"),
        ({"findings": [3]}, "expected a list for findings, got \\[3\\]"),
    ],
)
def test_a_bad_verdict_says_what_was_expected(changed: dict[str, Any], words: str) -> None:
    """Each of its members."""
    members = {**json.loads(line_of(VERDICT)), **changed}
    with pytest.raises(ValueError, match=words):
        verdict_of(json.dumps(members).encode())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"x\n", "expected a JSON object, got 'x'$"),
        (b"SQLite\xec\0", "expected a JSON object, got 'SQLite\ufffd.x00'$"),
        (b"[" * 100_000, "expected a JSON object"),
        (b"[]", "expected a JSON object"),
        (b"{}", "expected a header"),
        (b'{"acp_proxy_results":2}', "format 2"),
        (b'{"acp_proxy_results":1}', "expected these members as well"),
    ],
)
def test_a_bad_header_says_what_was_expected(line: bytes, words: str) -> None:
    """A later format as well."""
    with pytest.raises(ValueError, match=words):
        header_of(line)


@pytest.mark.parametrize(
    ("exits", "worst"), [((), 0), ((0, 0), 0), ((0, 1), 1), ((1, 3, 0), 3), ((3, 2, 1), 2)]
)
def test_a_batch_ends_as_its_worst_verdict(exits: tuple[int, ...], worst: int) -> None:
    """2 comes before 3 before 1."""
    assert worst_exit(exits) == worst


def test_the_digest_depends_on_each_word() -> None:
    """And on where one ends."""
    words = [("verify", ["a", "b"]), ("check", ["a", "b"]), ("verify", ["ab"]), ("verify", ["b"])]
    assert len({digest_of(*one) for one in words}) == len(words)
