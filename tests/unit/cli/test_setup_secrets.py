"""`setup` prints no secret of existing settings, wherever in them the secret is."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command_line import run
from tests.support.planted_places import Leaks

if TYPE_CHECKING:
    from pathlib import Path

SECRETS = {
    "q7Vd/Xw2+Lm9Rt4Kp8Zb": "a variable",
    "zN4cT8wLq2Hs6Kd1Yv": "a header",
    "Hn6wQz3LfTyBp9": "an argument after its option",
    "Rk2mVb9ZtXq7Wc": "an argument with its option",
    "sk-ant-api03-Vb7QxL2mRk9TzWp4Yc8NdHf5": "a key in an argument",
    "Tg5yHn8uJm2kLp4": "a header in an argument",
    "Wq3eRt6yUi9oPa2": "a variable of a server in the context of the change",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a": "a key in a comment",
    "Zx8cVb5nMa3sDf": "an assignment before acp-proxy",
}
(VARIABLE, HEADER, AFTER, WITH, KEY, BEARER, SERVER, COMMENT, BEFORE) = SECRETS
SETTINGS = f"""{{
  // was {COMMENT}
  "context_servers": {{ "x": {{ "command": "x", "env": {{ "DEPLOY": "{SERVER}" }} }} }},
  "agent_servers": {{
    "OpenCode": {{
      "command": "opencode",
      "args": [
        "acp", "--token", "{AFTER}", "--password={WITH}", "{KEY}",
        "--header", "Authorization: Bearer {BEARER}"
      ],
      "env": {{ "DEPLOY": "{VARIABLE}" }}, "headers": {{ "X-Any": "{HEADER}" }}
    }},
    "Other": {{
      "command": "env", "args": ["API_TOKEN={BEFORE}", "acp-proxy", "record", "--", "x"]
    }}
  }}
}}
"""


@pytest.mark.parametrize("client", ["zed", "jetbrains", "vscode"])
def test_nothing_that_is_printed_has_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    """Nothing that `setup` prints contains a secret from an editor's settings."""
    monkeypatch.setattr(sys, "platform", "linux")
    path = (
        tmp_path
        / {
            "zed": ".config/zed/settings.json",
            "jetbrains": ".jetbrains/acp.json",
            "vscode": ".config/Code/User/settings.json",
        }[client]
    )
    path.parent.mkdir(parents=True)
    path.write_text(
        SETTINGS.replace("agent_servers", "acp.agents") if client == "vscode" else SETTINGS
    )
    leaks = Leaks(SECRETS)
    environ: dict[str, Any] = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    environ |= {"XDG_CONFIG_HOME": None, "XDG_DATA_HOME": None}
    agent = (client, "--agent", "OpenCode")
    commands: list[tuple[str, ...]] = [(), ("--json",), agent, (client, "--json")]
    if client != "vscode":
        commands += [
            (*agent, "--write"),
            (*agent, "--write", "--yes"),
            (client,),
            (client, "--undo"),
        ]
    for words in commands:
        result = run("setup", *words, **environ)
        assert result.exit_code in (0, 2)
        assert leaks.leaks_in(result.output.encode()) == [], words
    assert "OpenCode" in run("setup", **environ).output
    assert json.loads(run("setup", *agent, **environ).stdout)
    shown = run("setup", *agent, "--unredacted", **environ).output
    assert all(secret in shown for secret in (VARIABLE, HEADER, AFTER, WITH, KEY, BEARER))
    path.write_text(path.read_text()[: path.read_text().index(BEARER) + 9])
    for words in ((), agent, ("--json",)):
        assert leaks.leaks_in(run("setup", *words, **environ).output.encode()) == []
