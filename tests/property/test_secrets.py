"""A recording with masked secrets replays like the same recording with its secrets."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.diff.diff import diff
from acp_proxy.diff.diff_result import DiffOptions
from acp_proxy.store.reader import RecordingReader
from tests.support.playbook import record
from tests.support.reactive_client import Conversation, play
from tests.support.verify_playbook import verify

if TYPE_CHECKING:
    from tests.support.playbook import RecordedTranscript

_LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
SECRETS = st.lists(
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["sk-ant-api03-", "ghp_", "sk-proj-"]),
        st.just("Zx9Qw3Rt7Yp1Lm5"),
        st.text(_LETTERS, min_size=25, max_size=25),
    ),
    min_size=4,
    max_size=4,
    unique=True,
)
"""Two recorded secrets, and two live ones."""
WORDS = st.lists(
    st.tuples(st.sampled_from(["use", "and then", "é", ""]), st.integers(0, 2)), max_size=4
)
"""The texts of a prompt, each with the index of the secret that follows it; 2 for none."""


def conversation(secrets: list[str], prompts: list[list[tuple[str, int]]]) -> str:
    """Returns the transcript of a session with two secrets, and of its prompts."""
    env = [{"name": f"TOKEN_{number}", "value": secret} for number, secret in enumerate(secrets)]
    server = {"name": "m", "command": "c", "args": [], "env": env}
    lines = [
        '-> #0 initialize {"protocolVersion": 1}',
        '<- #0 result {"protocolVersion": 1}',
        f'-> #1 session/new {{"cwd": "/p", "mcpServers": {json.dumps([server])}}}',
        '<- #1 result {"sessionId": "s"}',
    ]
    for number, prompt in enumerate(prompts, 2):
        said = " ".join(f"{word} {[*secrets, ''][n]}" for word, n in prompt)
        params: dict[str, Any] = {"sessionId": "s", "prompt": [{"type": "text", "text": said}]}
        lines += [
            f"-> #{number} session/prompt {json.dumps(params)}",
            f'<- #{number} result {{"stopReason": "end_turn"}}',
        ]
    return "\n".join(lines)


def replayed(recorded: RecordedTranscript, client: str) -> list[tuple[str, str]]:
    """Returns all divergences of a client except informational ones."""
    live = recorded.replay()
    for line in client.splitlines():
        if line.startswith("-> "):
            live.send(line.removeprefix("-> "))
    shown = repr(live.report).encode() + live.bytes
    assert b"Zx9Qw3Rt7Yp1Lm5" not in shown or recorded.script().redaction == "none"
    return [(d.kind, d.lane) for d in live.divergences if d.rank != "info"]


@given(SECRETS, st.lists(WORDS, min_size=1, max_size=3), st.lists(WORDS, min_size=1, max_size=3))
def test_secrets_do_not_decide_how_a_conversation_is_played(
    secrets: list[str],
    prompts: list[list[tuple[str, int]]],
    others: list[list[tuple[str, int]]],
) -> None:
    """A replay of a masked recording has the same divergences as a replay of the original."""
    own, live = secrets[:2], secrets[2:]
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        recordings = []
        for level in ("none", "secrets"):
            recorder = record(
                Path(name), conversation(own, prompts), redaction=level, marker_key="07" * 16
            )
            stack.callback(recorder.close)
            recordings.append(recorder)
        for tokens in (own, live):
            for said in (prompts, others):
                client = conversation(tokens, said)
                plain, masked = (replayed(recorder, client) for recorder in recordings)
                assert plain == masked
                assert said != prompts or plain == []
        for recorder in recordings:
            agent = verify(recorder)
            for number in range(2, 5 + 2 * len(prompts), 2):
                agent.play(f"<- {number}")
            assert agent.mismatches == []
        old, new = (stack.enter_context(RecordingReader(recorder.path)) for recorder in recordings)
        assert diff(old, new, DiffOptions()).is_equal


def test_every_recording_plays_without_its_secrets(every_recording: list[Path]) -> None:
    """A masked recording replays without a divergence if the client sends the real secrets."""
    for path in every_recording:
        with RecordingReader(path, unredacted=True) as whole, RecordingReader(path) as masked:
            loaded = Conversation.load(whole)
            played = play(evolve(loaded, reader=masked))
            assert [d for d in played.divergences if d.rank != "info"] == [], path
