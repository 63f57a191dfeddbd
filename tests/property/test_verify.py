"""`verify` finds no divergence in an unchanged agent, in whatever order it serves sessions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.playback.shared.divergence import DivergenceKind
from acp_proxy.playback.shared.playback_options import Order
from tests.support import captures, drawn_conversations
from tests.support.reactive_client import record_capture
from tests.support.scripted_agent import AgentFrame, Verified, verify, verify_reader
from tests.support.shipped_recordings import HEALTHY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from acp_proxy.recording.steps import Step

CAPTURES = captures.all_captures()
NAMELESS = ("gemini-0.61.0-parallel.db", "gemini-0.61.0-perm_allow.db", "gemini-0.61.0-plan.db")
"""Recordings with a permission for a tool call that has only a title, which `verify` denies."""


@pytest.fixture(
    scope="module", params=[*HEALTHY, *CAPTURES], ids=lambda p: p.parent.name[:12] + "-" + p.name
)
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a recording of a healthy conversation, from the repository or a capture."""
    path: Path = request.param
    return path if path in HEALTHY else record_capture(path, tmp_path_factory.mktemp("capture"))


def check(played: Verified) -> None:
    """Asserts that `verify` sent everything as recorded, and that nothing diverged."""
    assert played.divergences == []
    assert played.engine.is_played_out
    assert {send.seq: send.data for send in played.sent} == played.recorded
    assert len(played.sent) == len(played.recorded)


def test_an_agent_that_has_not_changed_is_verified(recording: Path) -> None:
    """If an agent is unchanged, `verify` sends it exactly the recorded bytes."""
    played = verify(recording, lenient=recording.name in NAMELESS)
    check(played)
    assert [send.seq for send in played.sent] == sorted(played.recorded)


@pytest.mark.parametrize("options", [{"order": Order.RECORDED}, {"lenient": True}])
def test_an_unchanged_agent_passes_with_all_options(
    recording: Path, options: dict[str, Any]
) -> None:
    """An unchanged agent passes `verify` with `--order recorded`, and also with `--lenient`."""
    check(verify(recording, **{"lenient": recording.name in NAMELESS, **options}))


def test_a_permission_that_names_nothing_is_not_granted(tmp_path: Path) -> None:
    """`verify` denies permission for a tool call that only its title describes."""
    count = 0
    for path in CAPTURES:
        name = f"{path.parent.name}-{path.stem}.db"
        if name not in NAMELESS:
            continue
        count += 1
        played = verify(record_capture(path, tmp_path))
        assert played.divergences[0].kind is DivergenceKind.PERMISSION_DIFFERS
        assert not [send for send in played.sent if b'"proceed_once"' in send.data]
    assert count == len(NAMELESS)


@given(words=drawn_conversations.steps, data=st.data())
def test_any_conversation_is_verified_in_any_order(
    words: list[tuple[str, int]], data: st.DataObject
) -> None:
    """An agent passes `verify` in whatever order it serves its sessions."""

    def choose(ready: list[AgentFrame]) -> AgentFrame:
        return data.draw(st.sampled_from(ready), label="next")

    with drawn_conversations.reader_of(drawn_conversations.lines_of(words)) as reader:
        check(verify_reader(reader, choose=choose))


ACTS: dict[str, Callable[[bytes], list[bytes]]] = {
    "drop": lambda _: [],
    "double": lambda raw: [raw, raw],
    "garbage": lambda raw: [b"\xff", raw, b"", b"[]"],
    "ask": lambda raw: [b'{"jsonrpc":"2.0","id":"new","method":"fs/read_text_file"}', raw],
    "strange": lambda raw: [b'{"id":[1],"result":{"sessionId":7}}', raw, b'[{"id":null}, 3]'],
    "deny": lambda raw: [
        re.sub(rb'"result":\s*\{.*\}(?=\})', b'"error":{"code":1,"message":"n"}', raw)
    ],
}
"""Faulty agents: functions that return the lines which are sent in place of a frame."""


@given(
    words=drawn_conversations.steps,
    acts=st.dictionaries(st.integers(0, 60), st.sampled_from(sorted(ACTS))),
)
def test_verification_ends_whatever_the_agent_sends(
    words: list[tuple[str, int]], acts: dict[int, str]
) -> None:
    """Whatever an agent does, `verify` ends."""
    count = iter(range(1000))

    def act(_: Step, raw: bytes) -> list[bytes]:
        name = acts.get(next(count))
        said = ACTS[name](raw) if name is not None else [raw]
        assert name != "deny" or b'"result"' not in raw or said != [raw]
        return said

    with drawn_conversations.reader_of(drawn_conversations.lines_of(words)) as reader:
        played = verify_reader(reader, act)
    assert played.engine.is_over
    if not played.engine.is_played_out:
        assert [
            divergence.kind for divergence in played.divergences if divergence.rank == "primary"
        ]
    for send in played.sent:
        assert send.seq is None or send.data == played.recorded[send.seq]
