"""Reports of messages that the recording lacks, has elsewhere, or has fewer times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.engine.shared.divergence import DivergenceKind
from tests.playbook import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    from acp_proxy.engine.shared.divergence import Divergence
    from tests.playbook import Live, RecordedTranscript

TURN = """
    1-4 session
    5 -> #2 session/prompt {"sessionId": "s", "prompt": "a"}
    6 <- session/update {"sessionId": "s"}
    7 <- #2 result {"stopReason": "end_turn"}
    8 -> #3 session/set_mode {"sessionId": "s", "modeId": "code"}
    9 <- #3 result {}
"""


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[str], RecordedTranscript]]:
    """Makes recordings."""
    made = []

    def recording(transcript: str) -> RecordedTranscript:
        made.append(record(tmp_path, transcript))
        return made[-1]

    yield recording
    for transcript in made:
        transcript.close()


@pytest.fixture
def play(make: Callable[[str], RecordedTranscript]) -> Callable[..., Live]:
    """Starts a replay and sends messages."""

    def start(transcript: str, *messages: str | int, **options: Any) -> Live:
        live = make(transcript).replay(**options)
        live.send(*messages)
        return live

    return start


def only(live: Live) -> Divergence:
    """The one divergence of a replay."""
    (divergence,) = live.divergences
    return divergence


def test_a_message_of_an_unknown_method(play: Callable[..., Live]) -> None:
    """It has the frame that was expected next, the line that came, and no near miss."""
    live = play(TURN, 1, 3, '#9 session/fork {"sessionId": "s"}')
    found = only(live)
    assert found.kind is DivergenceKind.UNMATCHED
    assert found.summary == "the client sent session/fork, which was not recorded there"
    assert found.came is not None
    assert '"session/fork"' in found.came
    assert (found.line, found.near_misses, found.differences) == (3, (), ())


def test_a_message_with_credentials(play: Callable[..., Live]) -> None:
    """The line that came has none of them, and else is spelled as it was sent."""
    before = '{"jsonrpc": "2.0", "id":9, "method":"session/load", "params": {"sessionId":"s"'
    sent = before + ', "mcpServers":[{"name":"x", "env": [{"name":"A", "value":"b"}]}]}}'
    found = only(play(TURN, 1, 3, f"| {sent}"))
    assert found.came == sent.replace('[{"name":"A", "value":"b"}]', '"(hidden)"')


def test_a_message_with_other_params(play: Callable[..., Live]) -> None:
    """It has the recorded one and what differs, among the near misses."""
    found = only(play(TURN, 1, 3, '#9 session/prompt {"sessionId": "s", "prompt": "b"}'))
    assert found.kind is DivergenceKind.PARAMS_DIFFER
    expected = f"the recording expected session/prompt #{found.seq}; the client sent another one"
    assert found.summary == expected
    (miss,) = found.near_misses
    assert miss.method == "session/prompt"
    assert [one.pointer for one in miss.differences] == ["/params/prompt"]


def test_a_message_once_more_than_recorded(play: Callable[..., Live]) -> None:
    """It is not called unknown, and the recorded one is named."""
    live = play(TURN, 1, 3, 5, '#9 session/prompt {"sessionId": "s", "prompt": "a"}')
    found = only(live)
    assert found.kind is DivergenceKind.EXHAUSTED
    expected = f"the client sent session/prompt #{found.seq} once more than recorded"
    assert found.summary == expected


def test_another_value_than_the_client_chose_before(play: Callable[..., Live]) -> None:
    """The differences are those of the values, so no near misses are looked for."""
    transcript = """
        1-2 handshake
        3 -> #1 session/new {"cwd": "/p"}
        4 <- #1 result {"sessionId": "s"}
        5 -> #2 session/new {"cwd": "/p", "mcpServers": []}
        6 <- #2 result {"sessionId": "t"}
    """
    live = play(
        transcript,
        1,
        '#1 session/new {"cwd": "/a"}',
        '#2 session/new {"cwd": "/b", "mcpServers": []}',
    )
    found = only(live)
    assert found.kind is DivergenceKind.BINDING_CONFLICT
    assert found.summary == f"session/new #{found.seq}: the client chose another value before"
    assert [one.pointer for one in found.differences] == ["/params/cwd"]
    assert found.near_misses == ()


def test_a_message_before_what_was_recorded_before_it(play: Callable[..., Live]) -> None:
    """It is paired all the same."""
    live = play(TURN, 1, 3, 8)
    found = only(live)
    assert found.kind is DivergenceKind.EARLY
    expected = f"session/set_mode #{found.seq} came before what was recorded before it"
    assert found.summary == expected
    assert found.line == 3


def test_a_message_after_the_replay_had_stopped_waiting(play: Callable[..., Live]) -> None:
    """Only one that may be left out is no longer waited for."""
    transcript = """
        1-2 handshake
        3 -> #1 session/list {}
        4 -> #2 authenticate {"methodId": "m"}
        5 <- #2 result {}
        6 <- #1 result {"sessions": []}
    """
    live = play(transcript, 1, 4)
    live.wait("5s")
    live.send(3)
    (found,) = [one for one in live.divergences if one.kind is DivergenceKind.LATE]
    expected = f"session/list #{found.seq} came after the replay had stopped waiting for it"
    assert found.summary == expected


def test_credentials_are_not_reported(play: Callable[..., Live]) -> None:
    """The rest of the line is as it came, also if it is no UTF-8."""
    transcript = """
        1 -> #0 initialize {"protocolVersion": "1.0"}
        2 <- #0 result {"protocolVersion": "1.0"}
        3 -> #1 authenticate {"methodId": "m", "credentials": {"apiKey": "k"}}
        4 <- #1 result {"success": true}
    """
    sent = (
        '{"jsonrpc": "2.0", "id": 1, "method": "authenticate", '
        '"params": {"methodId": "other", "credentials": {"apiKey": "secret"}}}'
    )
    live = play(transcript, 1, f"| {sent}")
    (found,) = [one for one in live.divergences if one.came is not None]
    assert found.came is not None
    assert "secret" not in found.came
    assert '"methodId": "other"' in found.came
