"""Tests which name `record` takes from an agent's command."""

from __future__ import annotations

import shlex

from acp_proxy.recording.agent_names import agent_name
from tests.support.cases import each_case


@each_case(
    ("command", "agent"),
    [
        ("gemini --acp", "gemini"),
        ("/usr/bin/claude-code-acp", "claude-code-acp"),
        ("npx -y @zed-industries/codex-acp", "codex-acp"),
        ("npx -y @zed-industries/claude-code-acp@0.4.0 --debug", "claude-code-acp"),
        ("npx --package=@a/b agent", "agent"),
        ("npx -p @a/b agent", "agent"),
        ("npm exec -- @google/gemini-cli --acp", "gemini-cli"),
        ("pnpm dlx opencode-ai@latest acp", "opencode-ai"),
        ("bunx --bun opencode acp", "opencode"),
        ("bun x opencode", "opencode"),
        ("uvx --from git+https://me:secret@example.com/agent.git fast-agent-acp", "fast-agent-acp"),
        ("uvx git+https://me:secret@example.com/o/fast-agent.git@main", "fast-agent"),
        ("uvx fast-agent-acp==1.2 -x", "fast-agent-acp"),
        ("uvx 'agent[all]>=2'", "agent"),
        ("uv run --with trio python -m my_agent.acp", "my_agent.acp"),
        ("uv tool run kimi", "kimi"),
        ("pipx run openhands", "openhands"),
        ("python3 -X dev agent.py --acp", "agent"),
        ("/usr/bin/python3.12 -m tests.agents.unruly_agent hang", "tests.agents.unruly_agent"),
        ("python -m agent.__main__", "agent"),
        ("python3 -c 'print(1)'", "python"),
        ("python3", "python"),
        ("node --import tsx ./agent.ts", "agent"),
        ("node /lib/node_modules/@zed/claude-code-acp/dist/index.js", "claude-code-acp"),
        ("node index.js", "index"),
        ("npx node@20 agent.mjs", "agent"),
        ("deno run -A jsr:@scope/agent", "agent"),
        ("env -u HOME API_KEY=secret goose acp", "goose"),
        ("env -S 'TOKEN=x npx -y agent@1'", "agent"),
        ("env", "env"),
        ("sh -c 'cd /src && TOKEN=secret exec npx -y my-agent'", "my-agent"),
        ("bash -lc 'qwen --acp'", "qwen"),
        ("bash start-agent.sh", "start-agent"),
        ("timeout 10 nice -n 5 gemini", "gemini"),
        ("docker run -i --rm -e KEY=secret ghcr.io/org/agent:1.2 acp", "agent"),
        ("nix run github:org/agent", "agent"),
        ("acp-proxy record --name x -- gemini", "gemini"),
        ("java -jar agent.jar", "agent"),
        ("npx ''", ""),
    ],
)  # fmt: skip
def test_the_agent_is_named_and_not_its_runner(command: str, agent: str) -> None:
    """acp-proxy names an agent without runners in its command, such as `npx` and `docker run`."""
    assert agent_name(shlex.split(command)) == agent


def test_a_command_that_starts_itself_for_ever_has_a_name() -> None:
    """If an agent's command is only `env`, repeated 99 times, `agent_name` returns `env`."""
    assert agent_name(["env"] * 99) == "env"
