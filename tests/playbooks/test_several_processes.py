"""The first messages of a client choose which of several recordings is replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.replay.recording_choice import RecordingChoice
from acp_proxy.playback.replay.replay import Replay
from acp_proxy.playback.replay.replay_state import ReplayOptions
from acp_proxy.playback.shared.playback_options import Pacing
from tests.support.playbook import Playing, Record, wire

if TYPE_CHECKING:
    from tests.support.playbook import RecordedTranscript


def chat(session: str, prompt: str) -> str:
    """Returns the transcript of a client that starts a new agent for each prompt."""
    return f"""
        1-2 handshake
        3 -> #1 session/new {{"cwd": "/p"}}
        4 <- #1 result {{"sessionId": "{session}"}}
        5 -> #2 session/prompt {{"sessionId": "{session}", "prompt": ["{prompt}"]}}
        6 <- session/update {{"sessionId": "{session}", "update": {{"text": "{session} {prompt}"}}}}
        7 <- #0 fs/read_text_file {{"sessionId": "{session}", "path": "/p/{session}"}}
        8 -> #0 result {{"content": ""}}
        9 <- #2 result {{"stopReason": "end_turn", "sessionId": "{session}"}}
        -> SIGTERM
    """


class Starting(Playing):
    """A replay that has not chosen one of its recordings yet."""

    engine: RecordingChoice


def start(*transcripts: RecordedTranscript, **options: object) -> Starting:
    """Starts a replay of several recordings."""
    replays = [Replay(recorded.script(), ReplayOptions(**options)) for recorded in transcripts]  # type: ignore[arg-type]
    return Starting(RecordingChoice(replays), transcripts[0])


def chosen(live: Starting, *replays: RecordedTranscript) -> RecordedTranscript:
    """Returns the recording that the replay has chosen."""
    path = live.engine.chosen.state.script._path  # type: ignore[attr-defined]
    return next(recorded for recorded in replays if recorded.path == path)


def test_session_ids_do_not_distinguish_recordings(record: Record) -> None:
    """A replay chooses among several recordings by the client's prompt, not by a session id."""
    transcripts = [record(chat(session, prompt)) for session, prompt in (("a", "x"), ("b", "y"))]
    live = start(*transcripts)
    live.check(r"""
        1-4
        -> #2 session/prompt {"sessionId": "a", "prompt": ["y"]}
        <- session/update {"sessionId": "a", "update": {"text": "b y"}}
        <- #0 fs/read_text_file {"sessionId": "a", "path": "/p/b"}
        -> 8
        <- 9
        -> end
        <- end
    """)
    assert chosen(live, *transcripts) is transcripts[1]
    assert live.divergences == []
    assert live.engine.state.bindings.changed == {"b": "a"}


NAMES = ("one", "two", "three")


def test_the_third_of_three_is_found(record: Record) -> None:
    """Of several recordings, a replay plays the one that has the client's prompt."""
    transcripts = [record(chat(name, f"say {name}")) for name in NAMES]
    for name, recorded in zip(NAMES, transcripts, strict=True):
        live = start(*transcripts)
        live.send(1, 3, f'#2 session/prompt {{"sessionId": "one", "prompt": ["say {name}"]}}')
        assert chosen(live, *transcripts) is recorded
        said = f'{{"sessionId": "one", "update": {{"text": "{name} say {name}"}}}}'
        asked = f'{{"sessionId": "one", "path": "/p/{name}"}}'
        assert live.bytes.endswith(
            wire(f"session/update {said}") + wire(f"#0 fs/read_text_file {asked}")
        )


def test_the_first_of_equal_recordings_is_chosen(record: Record) -> None:
    """If several recordings are equal, a replay plays the first."""
    transcripts = [record(chat("a", "x")), record(chat("b", "x"))]
    for _ in range(2):
        live = start(*transcripts)
        live.check("""
            1-7
        """)
        assert chosen(live, *transcripts) is transcripts[0]


@pytest.mark.parametrize(
    "answer",
    [
        '#1 result {"sessionId": "b", "modes": {"currentModeId": "other"}}',
        '#1 result {"sessionId": "b", "_meta": {"session": "b"}}',
        '| {"jsonrpc": "2.0", "id": 1, "result": {"sessionId":  "b"}}',
        '#1 result {"sessionId": 7}',
        '#1 error {"code": 1, "message": "no"}',
    ],
)
def test_answers_that_differ_in_more_than_ids_choose_the_first(record: Record, answer: str) -> None:
    """If answers before the prompt differ in more than ids, a replay plays the first recording."""
    second = chat("b", "y").replace('#1 result {"sessionId": "b"}', answer)
    live = start(record(chat("a", "x")), record(second))
    live.check("""
        1-4
        -> #2 session/prompt {"sessionId": "a", "prompt": ["y"]}
        <- refusal #2
    """)
    assert live.mismatches == ["params-differ primary in a 5"]


def test_only_the_session_id_is_replaced(record: Record) -> None:
    """A replay of several recordings replaces nothing in a line but the session id."""
    line = r'| {{"params" : {{"sessionId":{}, "n":1e3,"t":"\\u0062"}},"method":"session/update"}}'
    said = '6 <- session/update {"sessionId": "b", "update": {"text": "b y"}}'
    second = chat("b", "y").replace(said, "6 <- " + line.format(r'"\\u0062"'))
    live = start(record(chat("a", "x")), record(second))
    live.check(f"""
        1-4
        -> #2 session/prompt {{"sessionId": "a", "prompt": ["y"]}}
        <- {line.format('"a"')}
        <- #0 fs/read_text_file {{"sessionId": "a", "path": "/p/b"}}
    """)


COMMANDS = 'session/update {{"sessionId": "{}", "update": {{"sessionUpdate": "{}"}}}}'


def hasty(session: str, prompt: str, *, comes_late: bool, update: str = "commands") -> str:
    """Returns the transcript of an agent that sends an update before or after the prompt."""
    said = f"<- {COMMANDS.format(session, update)}"
    asked = f'-> #2 session/prompt {{"sessionId": "{session}", "prompt": ["{prompt}"]}}'
    lines = [asked, said] if comes_late else [said, asked]
    return f"""
        -> #0 initialize {{"protocolVersion": 1}}
        <- #0 result {{"protocolVersion": 1}}
        -> #1 session/new {{"cwd": "/p"}}
        <- #1 result {{"sessionId": "{session}"}}
        {lines[0]}
        {lines[1]}
        <- #2 result {{"stopReason": "{prompt}"}}
    """


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("prompt", ["x", "y"])
def test_an_update_that_raced_with_the_prompt_comes_after_it(
    record: Record, late: int, prompt: str
) -> None:
    """If one of several recordings has an update after the prompt, a replay sends it only then."""
    transcripts = [
        record(hasty(session, word, comes_late=number == late))
        for number, (session, word) in enumerate((("a", "x"), ("b", "y")))
    ]
    live = start(*transcripts)
    live.check("""
        1-4
        .. 29s
    """)
    before = len(live.bytes)
    live.send(f'#2 session/prompt {{"sessionId": "a", "prompt": ["{prompt}"]}}')
    answer = wire(f'#2 result {{"stopReason": "{prompt}"}}')
    assert live.bytes[before:] == wire(COMMANDS.format("a", "commands")) + answer
    assert live.leave() == ["<- end"]
    assert live.divergences == []


def test_a_different_update_chooses_the_first(record: Record) -> None:
    """If updates before the prompt differ among recordings, a replay plays the first recording."""
    transcripts = [
        record(hasty("a", "x", comes_late=False)),
        record(hasty("b", "y", comes_late=False, update="other commands")),
    ]
    live = start(*transcripts)
    assert live.send(1, 3) == ["<- 2", "<- 4", "<- 5"]
    assert chosen(live, *transcripts) is transcripts[0]


def test_a_common_frame_waits_for_the_slowest_recording(record: Record) -> None:
    """Before a replay has chosen a recording, it is as slow as the slowest of its recordings."""
    slow = chat("b", "y").replace("4 <-", ".. 20ms\n4 <-")
    live = start(record(chat("a", "x")), record(slow), pacing=Pacing(1.0))
    live.check("""
        -> 1
        .. 1ms
        <- 2
        -> 3
        .. 20ms
        .. 1ms
        <- 4
        -> #2 session/prompt {"sessionId": "a", "prompt": ["y"]}
        .. 1ms
        <- session/update {"sessionId": "a", "update": {"text": "b y"}}
    """)


def test_a_session_that_the_client_names_is_not_renamed(record: Record) -> None:
    """If a client loads a session by its id, a replay of several recordings keeps the id."""
    loads = """
        1-2 handshake
        3 -> #1 session/load {{"sessionId": "old", "cwd": "/p"}}
        4 <- session/update {{"sessionId": "{}", "update": {{}}}}
        5 <- #1 result {{}}
        6 -> #2 session/prompt {{"sessionId": "old", "prompt": ["{}"]}}
        7 <- #2 result {{"stopReason": "end_turn"}}
    """
    transcripts = [record(loads.format("odd", "x")), record(loads.format("old", "y"))]
    live = start(*transcripts)
    live.send(1, 3)
    assert chosen(live, *transcripts) is transcripts[0]
    assert len(live.engine.replays) == 1


def test_two_sessions_never_share_a_name(record: Record) -> None:
    """A replay of several recordings never gives two sessions the same id."""
    two = """
        1-2 handshake
        3 -> #1 session/new {{"cwd": "/p"}}
        4 <- #1 result {{"sessionId": "{0}"}}
        5 -> #2 session/new {{"cwd": "/q"}}
        6 <- #2 result {{"sessionId": "{1}"}}
        7 -> #3 session/prompt {{"sessionId": "{1}", "prompt": ["{2}"]}}
        8 <- session/update {{"sessionId": "{1}", "update": {{}}}}
        9 <- session/update {{"sessionId": "{0}", "update": {{}}}}
    """
    transcripts = [record(two.format("a1", "a2", "x")), record(two.format("b1", "b2", "y"))]
    live = start(*transcripts)
    assert live.send(1, 3, 5) == ["<- 2", "<- 4", "<- 9", "<- 6"]
    live.check("""
        -> #3 session/prompt {"sessionId": "a2", "prompt": ["y"]}
        <- 8
    """)
    live = start(transcripts[0], record(two.format("b", "b", "y")))
    live.send(1, 3, 5)
    assert len(live.engine.replays) == 1


def test_a_divergence_from_all_recordings_chooses_nothing(record: Record) -> None:
    """If a client's line is in none of several recordings, a replay chooses no recording by it."""
    transcripts = [record(chat("a", "x")), record(chat("b", "y"))]
    live = start(*transcripts)
    live.send("| garbage", 1, 3, '#2 session/prompt {"sessionId": "a", "prompt": ["y"]}')
    assert chosen(live, *transcripts) is transcripts[1]
    assert live.mismatches == ["malformed-input primary in connection"]
