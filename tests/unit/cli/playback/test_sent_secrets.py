"""`verify` sends secrets in place of markers, and neither records nor reports them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.command_line import complaint, run
from tests.support.playbook import record

if TYPE_CHECKING:
    from pathlib import Path

MARKER, OTHER = "[redacted:env:ab12cd34]", "[redacted:token:99990000]"
SECRETS = ("plum-rhubarb-771", "pin4")
RECORDED = f"""
    1 -> #0 initialize {{"protocolVersion": 1}}
    2 <- #0 result {{"protocolVersion": 1}}
    3 -> #1 session/new {{"cwd": "/p", "mcpServers": [{{"name": "m", "command": "c", "args": [], "env": [{{"name": "T", "value": "{MARKER}"}}]}}]}}
    4 <- #1 result {{"sessionId": "s"}}
    5 -> #2 session/prompt {{"sessionId": "s", "prompt": [{{"type": "text", "text": "use {MARKER} {OTHER}"}}]}}
    6 <- session/update {{"sessionId": "s", "update": {{"sessionUpdate": "agent_message_chunk", "content": {{"type": "text", "text": "used {MARKER}"}}}}}}
    7 <- #2 result {{"stopReason": "end_turn"}}
"""  # noqa: E501
AGENT = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method, sent = message["method"], {"protocolVersion": 1}
    if method == "session/new":
        secret = message["params"]["mcpServers"][0]["env"][0]["value"]
        sent = {"sessionId": "live-1"}
    if method == "session/prompt":
        assert secret == EXPECTED and secret in message["params"]["prompt"][0]["text"]
        update = {"sessionUpdate": "agent_message_chunk"}
        update["content"] = {"type": "text", "text": "used " + secret}
        params = {"sessionId": "live-1", "update": update}
        print(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}))
        sent = {"stopReason": "end_turn"}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": sent}), flush=True)
"""


@pytest.fixture
def masked(tmp_path: Path) -> Path:
    """Makes a recording with two markers in the client's messages."""
    (tmp_path / "made").mkdir()
    recorded = record(tmp_path / "made", RECORDED, redaction="secrets", marker_key="07" * 16)
    recorded.close()
    return recorded.path


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("ab12cd34", "expected MARKER=VARIABLE"),
        ("x=T", "expected MARKER=VARIABLE"),
        ("ab12cd35=T", "no message of the recorded client has the marker ab12cd35"),
        ("env:ab12cd34=NO_SUCH", f"expected a value for {MARKER}: NO_SUCH is not set"),
        ("[redacted:env:ab12cd34]=EMPTY", f"expected a value for {MARKER}: EMPTY is not set"),
    ],
)
def test_a_wrong_marker_or_variable_is_one_line(
    tmp_path: Path, masked: Path, option: str, words: str
) -> None:
    """`verify --secret` refuses an unknown marker or an unset variable by an error of one line."""
    command = ("verify", masked, "--secret", option, "--", "true")
    assert words in complaint(*command, home=tmp_path, T="x", EMPTY="")


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("marker", [MARKER, "env:ab12cd34", "ab12cd34"])
def test_a_secret_goes_to_the_agent_alone(
    tmp_path: Path, masked: Path, secret: str, marker: str
) -> None:
    """`verify --secret` sends a secret to the agent; the new recording has only its marker."""
    script, new, report = tmp_path / "agent.py", tmp_path / "new.db", tmp_path / "report.json"
    script.write_text(AGENT.replace("EXPECTED", repr(secret)))
    result = run(
        "verify", masked, "--secret", f"{marker}=MY_SECRET", "-o", new, "--report", report,
        "--", sys.executable, script, home=tmp_path, MY_SECRET=secret,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert f"markers that are sent unchanged: {OTHER}; to send the value" in result.stderr
    assert secret not in result.output + report.read_text()
    assert MARKER.encode() in new.read_bytes()
    assert not [path for path in tmp_path.rglob("new.db*") if secret.encode() in path.read_bytes()]
