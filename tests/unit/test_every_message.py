"""Every message of the protocol documents, in its dialect, passes through every part.

Each message stands in a minimal conversation (`tests.support.minimal_conversations`). It is
recorded and labelled, shown in words, replayed to a client in another directory with other ids,
compared with a second run with other ids, and verified against an agent that has other ids. `GAPS`
lists what does not hold, and why.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.diff.diff import diff
from acp_proxy.diff.diff_result import DiffOptions
from acp_proxy.recording.filters import parse
from acp_proxy.store.reader import RecordingReader
from tests.support import reactive_client, scripted_agent
from tests.support.command_line import run
from tests.support.minimal_conversations import OUT, Surrounded, renamed, surrounded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from acp_proxy.recording.steps import Step

CASES = list(surrounded())
_NO_DIRECTORY = (
    "the client names no directory in session/load, so none takes the recorded one's place"
)
GAPS: dict[str, dict[str, str]] = {
    "is_replayed_elsewhere": {
        "seed004-6-draft-1.0-session/load": _NO_DIRECTORY,
        "schemas-137-draft-1.0-session/load": _NO_DIRECTORY,
    },
}
"""For each check, prefixes of the names of messages that are known to fail, and the reason."""
_RAW_JSON = re.compile(r'[{,]\s*"[^"]*":|\{"')


def weighted() -> Iterator[object]:
    """Yields each case. Further cases of the same kind run only with `make soak`."""
    kinds = set()
    for case in CASES:
        example = case.example
        kind = example.direction, example.method, case.name.rpartition("-")[2]
        yield pytest.param(case, id=case.name, marks=[pytest.mark.soak] if kind in kinds else [])
        kinds.add(kind)


@pytest.mark.parametrize("case", [*weighted()])
def test_every_message_passes_every_check(case: Surrounded, tmp_path: Path) -> None:
    """`log` shows each kind of ACP message in words; `replay`, `diff` and `verify` accept it."""
    with RecordingReader(case.record(tmp_path / "message.db"), unredacted=True) as recorded:
        for check in CHECKS:
            gaps = GAPS.get(check.__name__, {})
            if any(case.name.startswith(name) for name in gaps):
                with pytest.raises(AssertionError):
                    check(case, recorded)
            else:
                check(case, recorded)


def test_every_gap_belongs_to_a_message() -> None:
    """`GAPS`, the exceptions of the test of all ACP messages, names only existing messages."""
    assert GAPS.keys() <= {check.__name__ for check in CHECKS}
    for name in (name for gaps in GAPS.values() for name in gaps):
        assert any(case.name.startswith(name) for case in CASES)


def frames(reader: RecordingReader) -> list[dict[str, Any]]:
    """Returns the rows of all frames of a recording."""
    return [*reader.frames(parse("not kind:event"))]


def is_labelled(case: Surrounded, recorded: RecordingReader) -> None:
    """Asserts that the stored lines are the sent lines, and that the message's labels are right."""
    rows = frames(recorded)
    assert [row["raw"] for row in rows] == [said.line[:-1] for said in case.said]
    row = rows[case.focus]
    labels = {"session": case.session, "call": case.tool_call, "terminal": case.terminal}
    for key, label in labels.items():
        if label is None:
            assert row["tool_call" if key == "call" else key] is None
        else:
            actual = {frame["seq"] for frame in recorded.frames(parse(f"{key}:{label}"))}
            assert row["seq"] in actual, (key, label)
    assert (row["turn"] is not None) == case.has_turn


def is_shown_in_words(case: Surrounded, recorded: RecordingReader) -> None:
    """Asserts that `log` and `show` describe the message in words, without JSON."""
    path, seq = recorded.path, frames(recorded)[case.focus]["seq"]
    for shown in (run("inspect", "log", path, f"seq:{seq}"), run("inspect", "show", path)):
        assert shown.exit_code == 0
        assert not _RAW_JSON.search(shown.stdout), shown.stdout


def is_replayed_elsewhere(case: Surrounded, recorded: RecordingReader) -> None:
    """Asserts that a client with other ids and directories gets the message with its own values."""

    def act(_: Step, raw: bytes) -> list[bytes]:
        message = renamed(json.loads(raw), case, by_client=True)
        return [json.dumps(message, ensure_ascii=False).encode()]

    played = reactive_client.play(reactive_client.Conversation.load(recorded), act)
    assert played.counted == []
    heard = [json.loads(line) for line in played.stream.splitlines()]
    said = [said.message for said in case.said if said.direction is not OUT]
    assert len(heard) == len(said)
    for live, message in zip(heard, said, strict=True):
        assert live == renamed(message, case, by_client=True)


def equals_a_run_with_other_ids(case: Surrounded, recorded: RecordingReader) -> None:
    """Asserts that `diff` ignores the ids, directories and times of another run."""
    other = case.renamed().record(recorded.path.with_name("other.db"))
    with RecordingReader(other, unredacted=True) as b:
        comparison = diff(recorded, b, DiffOptions())
        assert [*comparison.entries()] == []
        assert comparison.is_equal


def is_verified(case: Surrounded, recorded: RecordingReader) -> None:
    """Asserts that `verify` accepts an agent that sends the message with other ids."""

    def act(_: Step, raw: bytes) -> list[bytes]:
        message = renamed(json.loads(raw), case, by_agent=True)
        return [json.dumps(message, ensure_ascii=False).encode()]

    verified = scripted_agent.verify_reader(recorded, act)
    assert verified.divergences == []
    assert verified.engine.is_played_out


CHECKS = (
    is_labelled,
    is_shown_in_words,
    is_replayed_elsewhere,
    equals_a_run_with_other_ids,
    is_verified,
)
