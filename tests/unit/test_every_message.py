"""Every message of the protocol documents, in its dialect, goes through all that is done with one.

Each message stands in a minimal conversation (`tests.surroundings`). It is recorded and labelled,
shown in words, replayed to a client in another directory with other ids, compared with a second run
with other ids, and verified against an agent that has other ids. `GAPS` lists what does not hold,
and why.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.difference.diff import diff
from acp_proxy.difference.options import Options
from acp_proxy.filters import parse
from acp_proxy.store.reader import RecordingReader
from tests import reactive, scripted_agent
from tests.commands import run
from tests.surroundings import OUT, Surrounded, renamed, surrounded

if TYPE_CHECKING:
    from pathlib import Path

    from acp_proxy.engine.script import Step

CASES = list(surrounded())
_NO_DIRECTORY = (
    "the client names no directory in session/load, so none takes the recorded one's place"
)
GAPS: dict[str, dict[str, str]] = {
    "replay": {
        "seed004-6-draft-1.0-session/load": _NO_DIRECTORY,
        "schemas-137-draft-1.0-session/load": _NO_DIRECTORY,
    },
}
"""By check: the beginning of the names of messages for which it does not hold, and the reason."""
_RAW_JSON = re.compile(r'[{,]\s*"[^"]*":|\{"')


def cases(check: str) -> list[Any]:
    """Every message, those of a gap as expected to fail."""
    made = []
    gaps = GAPS.get(check, {})
    for case in CASES:
        reasons = [why for name, why in gaps.items() if case.name.startswith(name)]
        marks = [pytest.mark.xfail(strict=True, reason=reasons[0])] if reasons else []
        made.append(pytest.param(case, id=case.name, marks=marks))
    return made


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The recordings that were made so far, by their names."""
    return {"directory": tmp_path_factory.mktemp("every-message")}


def recorded(case: Surrounded, recordings: dict[str, Path]) -> Path:
    """The recording of a conversation."""
    name = case.name.replace("/", "_")
    if name not in recordings:
        recordings[name] = case.record(recordings["directory"] / f"{name}.db")
    return recordings[name]


def frames(reader: RecordingReader) -> list[dict[str, Any]]:
    """The rows of what both peers have said."""
    return [*reader.frames(parse("not kind:event"))]


@pytest.mark.parametrize("case", cases("labels"))
def test_it_is_recorded_and_labelled(case: Surrounded, recordings: dict[str, Path]) -> None:
    """The bytes are kept, and the message is found by its session, turn, tool call and terminal."""
    with RecordingReader(recorded(case, recordings)) as reader:
        rows = frames(reader)
        assert [row["raw"] for row in rows] == [said.line[:-1] for said in case.said]
        row = rows[case.focus]
        labels = {"session": case.session, "call": case.tool_call, "terminal": case.terminal}
        for key, label in labels.items():
            if label is None:
                assert row["tool_call" if key == "call" else key] is None
            else:
                found = {one["seq"] for one in reader.frames(parse(f"{key}:{label}"))}
                assert row["seq"] in found, (key, label)
        assert (row["turn"] is not None) == case.has_turn


@pytest.mark.parametrize("case", cases("words"))
def test_it_is_shown_in_words(case: Surrounded, recordings: dict[str, Path]) -> None:
    """The log has a line for it that quotes no JSON, and neither does the summary."""
    path = recorded(case, recordings)
    with RecordingReader(path) as reader:
        seq = frames(reader)[case.focus]["seq"]
    for shown in (run("inspect", "log", path, f"seq:{seq}"), run("inspect", "show", path)):
        assert shown.exit_code == 0
        assert not _RAW_JSON.search(shown.stdout), shown.stdout


@pytest.mark.parametrize("case", cases("replay"))
def test_it_is_replayed_elsewhere(case: Surrounded, recordings: dict[str, Path]) -> None:
    """A client in another directory, with ids of its own, hears the same about its own."""
    conversation = reactive.Conversation.load(recorded(case, recordings))

    def act(_: Step, raw: bytes) -> list[bytes]:
        message = renamed(json.loads(raw), case, by_client=True)
        return [json.dumps(message, ensure_ascii=False).encode()]

    played = reactive.play(conversation, act)
    assert played.counted == []
    heard = [json.loads(line) for line in played.stream.splitlines()]
    said = [said.message for said in case.said if said.direction is not OUT]
    assert len(heard) == len(said)
    for live, message in zip(heard, said, strict=True):
        assert live == renamed(message, case, by_client=True)


@pytest.mark.parametrize("case", cases("diff"))
def test_a_run_with_other_ids_is_equal(case: Surrounded, recordings: dict[str, Path]) -> None:
    """Ids, directories and times are other ones in every run, and no difference."""
    path = recorded(case, recordings)
    other = case.renamed().record(path.with_name(f"{path.stem}-other.db"))
    with RecordingReader(path) as a, RecordingReader(other) as b:
        found = diff(a, b, Options())
        assert [*found.entries()] == []
        assert found.is_equal


@pytest.mark.parametrize("case", cases("verify"))
def test_its_agent_is_verified(case: Surrounded, recordings: dict[str, Path]) -> None:
    """An agent that says the same with other ids has done what was recorded."""

    def act(_: Step, raw: bytes) -> list[bytes]:
        message = renamed(json.loads(raw), case, by_agent=True)
        return [json.dumps(message, ensure_ascii=False).encode()]

    verified = scripted_agent.verify(recorded(case, recordings), act)
    assert verified.departures == []
    assert verified.engine.is_played_out
