"""Tests which differences `verify --runs` takes for noise: those of the model's wording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.diff.diff import diff
from acp_proxy.diff.diff_result import DiffOptions
from acp_proxy.diff.noise import ModelNoise
from acp_proxy.store.queries.exchanges import turns
from tests.support.log_writer import error, request, text
from tests.support.scenario_runs import IN, OUT, Run

if TYPE_CHECKING:
    from acp_proxy.diff.diff_result import DiffEntry
    from acp_proxy.diff.noise import Prompts
    from acp_proxy.store.reader import RecordingReader

OPTIONS = DiffOptions(only="to-client")


def prompts(*readers: RecordingReader) -> Prompts:
    """Returns the prompts of two recordings."""
    first, second = ([turn.prompt_seq for turn in turns(reader)] for reader in readers)
    return first, second


def judged(*runs: Run) -> tuple[list[DiffEntry], list[DiffEntry]]:
    """Compares runs: the first is the recording, all others are runs of the new agent.

    Returns:
        The unstable differences, and the differences from the recording.
    """
    old, first, *others = [run.open() for run in runs]
    noise, unstable = ModelNoise(), []
    for other in others:
        rest = noise.learn(diff(first, other, OPTIONS), prompts(first, other))
        assert rest.is_equal == (not rest.counts.total)
        unstable += [*rest.entries()]
    changed = noise.without(diff(old, first, OPTIONS), prompts(old, first))
    entries = [*changed.entries()]
    assert len(entries) == changed.counts.total
    for reader in (old, first, *others):
        reader.close()
    return unstable, entries


def places(entries: list[DiffEntry]) -> list[str]:
    """Returns the places that differ, or the titles of entries that have no such place."""
    return [field.pointer for entry in entries for field in entry.fields] or [
        f"{entry.change} {entry.title}" for entry in entries
    ]


def spoken(number: int, *words: str, title: str = "Read it", kind: str = "read") -> Run:
    """Returns a run that says words and calls a tool."""
    run = Run(number).words(*words)
    call = run.call("a")
    run.tell("tool_call", toolCallId=call, title=title, kind=kind, status="pending")
    run.tell("tool_call_update", toolCallId=call, status="completed", content=[
        {"type": "content", "content": text(f"found by {title}")}
    ])  # fmt: skip
    run.tell("plan", entries=[{"content": " ".join(words), "priority": "low"}])
    return run.tell("usage_update", used=len(words), size=100)


def test_wording_titles_ids_and_the_number_of_chunks_are_noise() -> None:
    """If runs differ only in wording, titles, ids and chunks, `verify --runs` reports nothing."""
    runs = (
        spoken(0, "a").end(),
        spoken(1, "b", "b", title="Look at it").end(),
        spoken(0, "c", "c", "c", title="See it").end(),
    )
    assert judged(*runs) == ([], [])


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (spoken(0, "x", kind="fetch").end(), "/params/update/kind"),
        (spoken(0, "x").end("max_tokens"), "/result/stopReason"),
        (spoken(0, "x").add(IN, error(2, -32603, "no")), "/result"),
        (
            spoken(0, "x").add(IN, request(7, "session/request_permission", options=[])).end(),
            "only-b session/request_permission",
        ),
        (
            spoken(0, "x").add(IN, request(7, "fs/read_text_file", path="/a")).end(),
            "only-b fs/read_text_file",
        ),
    ],
    ids=["tool kind", "stop reason", "error", "permission", "method"],
)
def test_other_differences_are_unstable(other: Run, expected: str) -> None:
    """`verify --runs` calls an agent unstable if its runs differ in more than wording."""
    unstable, _ = judged(spoken(0, "x").end(), spoken(1, "y").end(), other)
    assert places(unstable)[0] == expected


@pytest.mark.parametrize(
    ("fields", "unstable"),
    [
        ([{"rawInput": {"text": value}} for value in ("a", "b")], True),
        ([{"rawInput": {"command": value}} for value in ("a", "b")], True),
        ([{"_meta": {"requestId": value}} for value in ("req-1234", "req-9876")], False),
        ([{"_meta": {"requestId": value}} for value in ("small", "large")], True),
        ([{"_meta": {"file": value}} for value in ("file-1234", "file-9876")], True),
    ],
)
def test_only_ids_that_look_generated_are_noise(
    fields: list[dict[str, Any]], unstable: bool
) -> None:
    """`verify --runs` ignores changed ids that look generated, but not a tool's changed input."""
    first, second = fields
    runs = [Run(n).tell("plan", entries=[], **more).end() for n, more in ((1, first), (0, second))]
    differences, _ = judged(runs[0], *runs)
    assert bool(differences) is unstable


def test_a_change_that_all_runs_show_is_reported() -> None:
    """`verify --runs` reports a title that is the same in all runs but other than recorded."""

    def run(number: int, answer: str, title: str, thought: str) -> Run:
        made = Run(number).tell("agent_thought_chunk", content=text(thought)).words(answer)
        call = made.call("a")
        return made.tell("tool_call", toolCallId=call, title=title, kind="read").end()

    unstable, changed = judged(
        run(0, "Yes.", "Read", "one"), run(1, "No.", "Look", "two"), run(0, "No.", "Look", "three")
    )
    assert unstable == []
    assert sorted(places(changed)) == ["/params/update/content/text", "/params/update/title"]


def test_a_text_that_only_some_runs_have_is_noise_in_its_turn() -> None:
    """`verify --runs` ignores a text that only some runs have in turn 1, but judges turn 2."""

    def run(number: int, first: tuple[str, ...], second: tuple[str, ...]) -> Run:
        made = Run(number).words(*first).end()
        prompt = request(3, "session/prompt", sessionId=made.session, prompt=[text("more")])
        return made.add(OUT, prompt).words(*second)

    silent, first, other = run(0, (), ("b",)), run(1, ("a",), ("b",)), run(0, (), ("b",))
    assert judged(silent, first, other) == ([], [])
    changed = judged(run(0, (), ()), run(1, ("a",), ("b",)), run(0, (), ("b",)))[1]
    assert [entry.preview for entry in changed] == ["b"]
