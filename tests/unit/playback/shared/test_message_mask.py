"""Playback masks secrets in recorded and live messages by the same markers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.playback.shared.message_mask import MessageMask
from acp_proxy.protocol.typed_places import places_of

SECRET, OTHER = (f"sk-ant-api03-{letter * 3}{'Zx9Qw3Rt7Yp1' * 3}" for letter in "ab")
FIRST, SECOND = "[redacted:key:00000001]", "[redacted:key:00000002]"


def message(**params: Any) -> bytes:
    """Returns a request that opens a session."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": params}
    return json.dumps(request).encode()


def test_markers_are_numbered_and_stay_the_same() -> None:
    """The report of a replay numbers secrets in the order in which they first appear."""
    for secrets in ((SECRET, OTHER), (OTHER, SECRET)):
        mask = MessageMask("none")
        result = [mask.masked(message(note=item)) for item in (*secrets, secrets[0])]
        assert [json.loads(raw)["params"]["note"] for raw in result] == [FIRST, SECOND, FIRST]


def test_a_secret_is_known_to_both_sides() -> None:
    """If a recorded message contains a secret, the report of a replay masks it in live messages."""
    mask = MessageMask("none")
    mask.note(message(env={"API_KEY": "plum-rhubarb-771"}))
    assert b"plum" not in mask.masked(message(note="it is plum-rhubarb-771"))
    assert "plum" not in mask.text("it is plum-rhubarb-771")


def test_what_a_masked_recording_sends_is_not_looked_at() -> None:
    """If a recording is already masked, a replay looks for secrets only in live messages."""
    mask = MessageMask("secrets")
    raw = message(env={"API_KEY": "plum-rhubarb-771"})
    mask.note(raw)
    assert "plum" in mask.text("it is plum-rhubarb-771")
    mask.note_live(raw)
    assert "plum" not in mask.text("it is plum-rhubarb-771")


def test_a_directory_stays_what_it_is() -> None:
    """The report of a replay never masks the value of `cwd`."""
    mask = MessageMask("none")
    places = places_of("request", "session/new")
    value = mask.value(message(cwd=f"/proj/{SECRET}", note=SECRET), places)
    assert value["params"] == {"cwd": f"/proj/{SECRET}", "note": FIRST}
    assert mask.value(b"no json", places) is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("params", "env", "0", "value"), "tr0ub4dor-3-x"),
        (("params", "api_key"), "tr0ub4dor-3-x"),
        (("params", "text"), f"a {SECRET}"),
        (("params", "args", "1"), {"password": "tr0ub4dor-3-x"}),
    ],
)
def test_a_part_is_masked_as_in_its_message(path: tuple[str, ...], value: Any) -> None:
    """If a replay report shows one value of a message, such as `api_key`, it masks the secret."""
    mask = MessageMask("none")
    result = json.dumps(mask.part(path, value))
    assert "[redacted:" in result
    assert "tr0ub4dor" not in result
    assert mask.part(path, 7) == 7


def test_a_known_secret_has_its_own_marker() -> None:
    """In reports, a replay shows a live secret as the marker of the recorded secret."""
    marker = "[redacted:env:0a0b0c0d]"
    mask = MessageMask("secrets", {"pin7": marker, "plum-rhubarb-771": marker})
    assert mask.text("it is plum-rhubarb-771") == f"it is {marker}"
    env = [{"name": "PIN", "value": "pin7"}]
    assert marker.encode() in mask.masked(message(env=env))


def test_a_private_recording_is_compared_by_the_shape_of_its_texts() -> None:
    """If texts of a recording are masked as private, a replay masks the live texts, too."""
    prompt = b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"prompt":"go on"}}'
    assert b'"xx xx"' in MessageMask("private").masked(prompt)
    assert MessageMask("secrets").masked(prompt) == prompt
