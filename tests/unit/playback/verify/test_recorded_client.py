"""`verify` plays the recorded client unchanged, or with live secrets in place of markers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from acp_proxy.playback.verify.recorded_client import FilledScript, RecordedClient, markers_to_send

if TYPE_CHECKING:
    from tests.support.playbook import Record

MARKER, OTHER = "[redacted:env:0a0b0c0d]", "[redacted:token:11112222]"
FILLED = f"""
    1-4 session
    5 -> #2 session/prompt {{"sessionId": "s", "prompt": "{MARKER} {OTHER}"}}
    6 <- #2 result {{"stopReason": "end_turn"}}
"""


def test_a_frame_has_secrets_as_json(record: Record) -> None:
    """If `verify` puts a secret into a recorded frame, the secret is escaped as in JSON."""
    recorded = record(FILLED)
    script, secret = recorded.script(), 'a"\\\n\u00e9'
    filled = FilledScript(script, {"0a0b0c0d": secret})
    seq = recorded.seq(5)
    assert json.loads(filled.wire(seq).raw)["params"]["prompt"] == f"{secret} {OTHER}"
    assert filled.wire(recorded.seq(1)) == script.wire(recorded.seq(1))
    assert [step.seq for step in filled.read()] == [step.seq for step in recorded.script().read()]
    assert [*filled.later("x", "request", 0)] == []


def test_markers_are_found_once_and_in_order(record: Record) -> None:
    """`verify` lists the markers that secrets have to replace: each once, in recorded order."""
    result = markers_to_send(RecordedClient(record(FILLED).script()))
    assert [*result.items()] == [("0a0b0c0d", MARKER), ("11112222", OTHER)]


def test_a_frame_is_filled_once_while_it_is_asked_for_again(record: Record) -> None:
    """`verify` puts secrets into a frame only once, unless the secrets change."""
    recorded = record(FILLED)
    filled = FilledScript(recorded.script(), {"0a0b0c0d": "secret"})
    first, other = (filled.wire(recorded.seq(at)).raw for at in (5, 6))
    assert filled.wire(recorded.seq(5)).raw is first
    assert filled.wire(recorded.seq(6)).raw is other
    filled.fill({"0a0b0c0d": "another"})
    assert b"another" in filled.wire(recorded.seq(5)).raw
