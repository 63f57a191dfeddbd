"""Results of several files become one: a verdict for each recording, and what is missing."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from attrs import evolve

from acp_proxy.batches.merged import (
    DifferentBatches,
    MergedResults,
    MissingPart,
    ResultsMerger,
    missing_text,
    summary,
)
from acp_proxy.batches.results import JobVerdict, ResultsHeader, ShardCount, VerdictKind
from tests.verdicts import FINDING, header, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

File = tuple[ResultsHeader, list[JobVerdict]]
KINDS = (
    VerdictKind.CLEAN,
    VerdictKind.DIFFERS,
    VerdictKind.CLEAN,
    VerdictKind.STALLED,
    VerdictKind.CLEAN,
)
EVERY = [
    verdict(f"chats/{n:02}.db", kind)
    for n, kind in zip(range(20), itertools.cycle(KINDS), strict=False)
]
SHARDS: list[File] = [
    (header(f"{n}/7", len(EVERY[n - 1 :: 7]), total=20), EVERY[n - 1 :: 7]) for n in range(1, 8)
]
WHOLE: File = (header(None, 20, total=20), EVERY)


def merged(files: Iterable[File], *, is_partial: bool = False) -> MergedResults:
    """Merges files, which are named by their numbers."""
    merger = ResultsMerger()
    for number, (first, verdicts) in enumerate(files):
        merger.begin(f"{number}.jsonl", first)
        for one in verdicts:
            merger.add(one)
    return merger.merged(is_partial=is_partial)


def again(found: MergedResults) -> File:
    """What a merged file holds."""
    return found.header, [one for each in found.recordings for one in (each.verdict, *each.others)]


def without_shards(found: MergedResults) -> MergedResults:
    """The same, but for how it was divided."""
    return evolve(found, header=evolve(found.header, shards=()))


def test_all_shards_are_the_whole() -> None:
    """In any order of the files, and merged again."""
    whole = without_shards(merged([WHOLE]))
    for files in (SHARDS, SHARDS[::-1], [again(merged(SHARDS))], [*SHARDS[:3], *SHARDS]):
        assert without_shards(merged(files)) == whole
    assert whole.exit == 3
    assert whole.missing == ()
    assert whole.counts == {VerdictKind.CLEAN: 12, VerdictKind.DIFFERS: 4, VerdictKind.STALLED: 4}
    assert [one.recording for one in whole.failed[:2]] == ["chats/01.db", "chats/03.db"]


def test_what_is_missing_is_known() -> None:
    """A shard that stopped, and those without a file, also after another merge."""
    files = [(SHARDS[2][0], SHARDS[2][1][:1]), *SHARDS[4:]]
    found = merged(files)
    assert found.missing == (
        MissingPart("3/7", 3, 1),
        MissingPart("1/7", None, 0),
        MissingPart("2/7", None, 0),
        MissingPart("4/7", None, 0),
    )
    assert missing_text(found.missing) == [
        "shard 3/7 stopped after 1 of 3 recordings",
        "shards 1/7, 2/7, 4/7 are not among the files",
    ]
    assert found.exit == 3
    assert found.header.recordings == 20
    assert merged([again(found)]) == found
    assert merged(files, is_partial=True).missing == found.missing[:1]
    assert merged([*files, *SHARDS[:4]]).missing == ()


def test_an_incomplete_batch_is_no_success() -> None:
    """Nor is one without recordings, but a shard may have none."""
    assert merged([(header("1/2", 1), [verdict("a")])]).exit == 3
    assert merged([(header("1/2", 1), [verdict("a")])], is_partial=True).exit == 0
    assert merged([(header(None, 1), [])]).exit == 3
    assert merged([(header(None, None), [verdict("a")])]).exit == 3
    assert merged([(header(None, 0), [])]).exit == 2
    assert merged([(header("1/2", 0), [])], is_partial=True).exit == 0


def test_a_file_that_another_goes_on_with_is_not_missed() -> None:
    """But one that stopped is, if the others are about other recordings."""
    start = header(None, 3), EVERY[:2]
    assert merged([start, (header(None, 3), EVERY[:3])]).missing == ()
    other = header(None, 3), EVERY[5:8]
    assert merged([start, other]).missing == (MissingPart(None, 3, 2),)
    assert missing_text(merged([start]).missing) == ["the batch stopped after 2 of 3 recordings"]
    twice = merged([start, other])
    assert merged([again(twice)]).missing == twice.missing


def test_a_recording_counts_once() -> None:
    """In however many files of all recordings it is; what a file that stopped lacks counts, too."""
    one, other = (header(None, 3), EVERY[:3]), (header(None, 3), EVERY[1:4])
    for files, count in (
        ([one, one], 3),
        ([one, other], 4),
        ([one, again(merged([one, other]))], 4),
        ([(one[0], one[1][:2]), one], 3),
        ([(one[0], one[1][:2]), other], 5),
        ([one, (header(None, None), EVERY[:1])], None),
    ):
        found = merged(files)
        assert found.header.recordings == found.header.total == count
        twice = merged([again(found)])
        assert (twice.header, twice.missing) == (found.header, found.missing)


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        ([VerdictKind.CLEAN], 0),
        ([VerdictKind.CLEAN, VerdictKind.DIFFERS], 1),
        ([VerdictKind.DIFFERS, VerdictKind.STALLED], 3),
        ([VerdictKind.STALLED, VerdictKind.UNREADABLE, VerdictKind.DIFFERS], 2),
    ],
)
def test_the_worst_exit_counts(kinds: list[VerdictKind], code: int) -> None:
    """2 before 3 before 1."""
    verdicts = [verdict(str(n), kind) for n, kind in enumerate(kinds)]
    found = merged([(header(None, len(kinds)), verdicts)])
    assert found.exit == code
    words = {0: "clean", 1: "failed", 2: "error", 3: "incomplete"}
    assert summary(found).verdict == words[code]


def test_equal_verdicts_are_one() -> None:
    """Whenever and wherever they were found."""
    one = verdict("a", VerdictKind.DIFFERS, "x")
    other = evolve(one, seconds=9.0, node="n", attempt=2, new_recording="/n.db")
    found = merged([(header("1/1", 1), [one]), (header("1/1", 1), [other])])
    assert found.conflicts == []
    assert [each.verdict for each in found.recordings] == [one]


def test_the_worse_of_two_verdicts_counts() -> None:
    """Both are kept, whatever the order."""
    clean, bad = verdict("a"), verdict("a", VerdictKind.STALLED)
    differs = verdict("a", VerdictKind.DIFFERS, "x")
    files = [(header("1/1", 1), [one]) for one in (clean, differs, bad)]
    for order in itertools.permutations(files):
        (found,) = merged(order).conflicts
        assert found.verdict == bad
        assert found.others == (differs, clean)
    assert merged(files).exit == 3
    assert summary(merged(files)).conflicts == 1


@pytest.mark.parametrize("other", [{"command": "check"}, {"digest": "e"}])
def test_another_batch_is_refused(other: dict[str, Any]) -> None:
    """Of another command, or of other options; a verdict as well as a file."""
    with pytest.raises(DifferentBatches, match=r"^1.jsonl has results of .* than 0.jsonl; "):
        merged([(header(), []), (header(**other), [])])
    with pytest.raises(ValueError, match="the batch that the header names"):
        merged([(header(), [verdict("a", **other)])])


@pytest.mark.parametrize("shard", ["", "0/7", "8/7", "3/7\n", "3/", "a/b", "1/999999", "٣/7"])
def test_a_shard_has_a_number(shard: str) -> None:
    """Within their number."""
    with pytest.raises(ValueError, match="expected a shard such as 3/7"):
        merged([(header(shard), [])])


def test_missing_shards_are_limited() -> None:
    """However many a stranger's file has."""
    counts = tuple(ShardCount(f"1/{n}", 0, 0) for n in range(90_000, 90_010))
    found = merged([(header(None, 0, shards=counts), [])])
    assert len(found.missing) == 10_000
    (text,) = missing_text(found.missing)
    assert text.endswith(" and 9,980 more are not among the files")


@pytest.mark.parametrize(
    "change",
    [{"severity": "bad"}, {"seq": "x"}, {"seq": None}, {"line": 0}, {"related": 3}, {"rule": ...}],
)
def test_findings_are_checked(change: dict[str, Any]) -> None:
    """A report could not show others."""
    finding = {name: value for name, value in (FINDING | change).items() if value is not ...}
    bad = verdict("a", VerdictKind.FINDINGS, command="check", findings=(finding,))
    with pytest.raises(ValueError, match=r"^expected "):
        merged([(header(command="check"), [bad])])
