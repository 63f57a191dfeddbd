"""Makes a home directory in which every ACP client is configured."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from acp_proxy.editors.agents import Machine

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-ant-api03-" + "aB3" * 12
VALUE = "hunter2-the-value"
ZED = """\
// Zed settings
{
  "theme": "One Dark", // dark
  "agent_servers": {
    // mine
    "OpenCode": {
      "type": "custom",
      "command": "opencode",
      "args": ["acp", "--api-key", "%s"],
      "env": { "OPENAI_API_KEY": "%s" }, // keep
      "default_mode": "ask",
    },
    "gemini": { "type": "registry", "env": { "A": "b" } },
  },
}
"""
LUA = """\
-- default = { "gemini", "--acp" }
require("codecompanion").setup({ adapters = { acp = { claude_code = function()
  return require("codecompanion.adapters").extend("claude_code", {
    commands = { default = { 'claude-agent-acp', "-x" } } })
end } } })
require("avante").setup({ acp_providers = { ["goose"] = {
  command = "/opt/acp-proxy", args = { "record", "--", "goose", "acp" } } } })
"""
ELISP = """\
;; agent-shell
(setq agent-shell-google-gemini-acp-command '("gemini" "--acp"))
"""
ACPX: dict[str, object] = {
    "agents": {
        "a": {"argv": ["opencode", "acp"]},
        "b": {"command": "goose acp", "args": ["-v"]},
        "c": {"command": "broken '"},
        "d": 1,
    }
}
OBSIDIAN = {
    "claude": {"id": "claude", "displayName": "Claude", "command": "claude-agent-acp", "env": []},
    "gemini": {"id": "gemini", "command": ""},
    "customAgents": [
        {"id": "x", "command": "/x", "args": ["1"], "env": [{"key": "A", "value": VALUE}]}
    ],
}
AGENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "zed": {"OpenCode": ("opencode", "acp", "--api-key", KEY), "gemini": ()},
    "jetbrains": {"Claude": ("npx", "-y", "@agentclientprotocol/claude-agent-acp@1")},
    "codecompanion": {
        "claude-acp": ("claude-agent-acp", "-x"),
        "goose": ("/opt/acp-proxy", "record", "--", "goose", "acp"),
    },
    "avante": {
        "claude-acp": ("claude-agent-acp", "-x"),
        "goose": ("/opt/acp-proxy", "record", "--", "goose", "acp"),
    },
    "agent-shell": {"gemini": ("gemini", "--acp")},
    "vscode": {"Goose": ("goose", "acp")},
    "obsidian": {"Claude": ("claude-agent-acp",), "x": ("/x", "1")},
    "toad": {},
    "acpx": {"a": ("opencode", "acp"), "b": ("goose", "acp", "-v"), "c": ("broken '",), "d": ()},
    "marimo": {},
}
"""The agents in the settings of each client."""


def make_home(home: Path, *, is_mac: bool = False) -> Machine:
    """Fills a home directory, with programs in its ``bin``."""
    support = home / "Library/Application Support" if is_mac else home / ".config"
    vault = home / "notes"
    goose = {"acp.agents": {"Goose": {"command": "goose", "args": ["acp"]}}}
    claude = {
        "command": "npx",
        "args": ["-y", "@agentclientprotocol/claude-agent-acp@1"],
        "headers": {"X-Key": VALUE},
    }
    files = {
        home / ".config/zed/settings.json": ZED % (KEY, VALUE),
        home / ".jetbrains/acp.json": json.dumps({"agent_servers": {"Claude": claude}}),
        home / ".config/nvim/init.lua": LUA,
        home / ".emacs.d/init.el": ELISP,
        home / ".vscode/extensions/formulahendry.acp-client-1.2.3/package.json": "{}",
        support / "Code/User/settings.json": json.dumps(goose),
        support / "obsidian/obsidian.json": json.dumps({"vaults": {"1": {"path": str(vault)}}}),
        vault / ".obsidian/plugins/agent-client/data.json": json.dumps(OBSIDIAN),
        home / ".config/toad/toad.json": "{}",
        home / ".acpx/config.json": json.dumps(ACPX),
        home / ".config/marimo/marimo.toml": "",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    programs = home / "bin"
    programs.mkdir()
    for name, line in {"opencode": "", "npx": "/usr/bin/env -S node", "node": "/bin/sh"}.items():
        (programs / name).write_text(f"#!{line}\n" if line else "\x7fELF")
        (programs / name).chmod(0o755)
    environ = {"HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin"}
    return Machine(environ, "darwin" if is_mac else "linux", home)
