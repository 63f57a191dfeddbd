"""Writes the table of known agents, and its page of the manual, from the official registry.

``make agents`` reads the registry's file from its site; ``make agents REGISTRY=FILE`` reads a file
of the same form. The result has the checksum of the input, the version of each agent, and the
commit of its entry if the file has it. For each agent, the repository in the registry is compared
with the repository that its package names on npm or PyPI.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from acp_proxy.editors.known_agents import KnownAgent

TABLE = Path(__file__).parents[2] / "acp_proxy" / "editors" / "known_agents.json"
MANUAL = Path(__file__).parents[2] / "docs" / "known-agents.md"
REGISTRY = "https://github.com/agentclientprotocol/registry"
URL = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json"
_PYPI = "https://pypi.org/pypi"
_TIMEOUT_S = 60
_RUNNERS = {"npx": ("npx", "-y"), "uvx": ("uvx",)}
"""For each kind of package, the words that run a package without installing it."""
_PROGRAMS = {
    "codebuddy-code": "codebuddy",
    "cursor": "cursor-agent",
    "dirac": "dirac",
    "gemini": "gemini",
    "opencode": "opencode",
    "poolside": "pool",
    "qwen-code": "qwen",
    "sigit": "sigit",
}
"""The program names of agents whose program is not named like their package or file."""


def main(words: list[str]) -> int:
    """Writes the table and the page; returns the exit code."""
    data = Path(words[0]).read_bytes() if words else _download()
    registry = json.loads(data)
    rows = {agent["id"]: row(agent, named_repositories) for agent in registry["agents"]}
    TABLE.write_text(written(rows, hashlib.sha256(data).hexdigest()), "utf-8")
    kept = [line for line in MANUAL.read_text("utf-8").splitlines() if not line.startswith("| `@")]
    MANUAL.write_text("\n".join([*kept, *manual_rows(rows), ""]), "utf-8")
    print(f"{len(rows)} agents")  # noqa: T201
    return 0


def row(
    agent: dict[str, Any], ask: Callable[[Sequence[str]], list[str]], day: str = ""
) -> KnownAgent:
    """Returns the row of the table for an agent in the registry.

    Args:
        agent: the agent's entry in the registry.
        ask: the function `named_repositories`, or a substitute.
        day: the day of the comparison; today by default.
    """
    kinds = agent["distribution"]
    runner: tuple[str, ...] = ()
    results: dict[str, Any] = {}
    program = ""
    for kind, start in _RUNNERS.items():
        if kind in kinds:
            results = kinds[kind]
            package = re.sub(r"(?<=.)(@|==).*", "", results["package"])
            runner, program = (*start, package), package.rpartition("/")[2]
    if "binary" in kinds:
        systems = kinds["binary"]
        results = systems.get("linux-x86_64") or next(iter(systems.values()))
        program = re.split(r"[/\\]", results["cmd"])[-1].removesuffix(".exe")
    program = _PROGRAMS.get(agent["id"], program)
    env = {name: value for name, value in results.get("env", {}).items() if "UPDATE" not in name}
    project = plain_repository(agent.get("repository", ""))
    is_compared = bool(runner and project and project in ask(runner))
    return {
        "name": agent["name"],
        "command": [program, *results.get("args", ())],
        "runner": [*runner],
        "env": env,
        "version": agent["version"],
        "commit": agent.get("commit", "-")[:12],
        "compared": (day or str(datetime.now(UTC).date())) if is_compared else "",
        "repository": project if is_compared else "",
    }


def plain_repository(url: str) -> str:
    """Returns host and path of a repository's address, whose spellings differ."""
    url = re.sub(r"^(git\+)?[a-z]+://(git@)?(www\.)?|^git@", "", url.strip().lower())
    return re.sub(r"(\.git)?/?$", "", re.sub(r"^([\w.]+):", r"\1/", url))


def named_repositories(runner: Sequence[str]) -> list[str]:
    """Returns the repositories that a package names; none if the package does not exist.

    Args:
        runner: the words that run the package; the last word is the package.
    """
    program, package = runner[0], runner[-1]
    if program == "npx":
        asked = ["npm", "view", package, "repository.url"]
        result = subprocess.run(asked, capture_output=True, text=True, timeout=_TIMEOUT_S)
        results = [result.stdout] if result.returncode == 0 else []
    else:
        with urllib.request.urlopen(f"{_PYPI}/{package}/json", timeout=_TIMEOUT_S) as answer:
            results = list((json.load(answer)["info"]["project_urls"] or {}).values())
    return [plain_repository(url) for url in results]


def written(rows: Mapping[str, KnownAgent], read: str) -> str:
    """Returns the contents of the table's file in the package, one agent on each line.

    Args:
        rows: the rows of the table, by the ids of the agents.
        read: the SHA-256 of the registry's file.
    """
    lines = [f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in sorted(rows.items())]
    head = f'{{\n "registry": "{REGISTRY}",\n "sha256": "{read}",\n "agents": {{\n'
    return head + ",\n".join(lines) + "\n }\n}\n"


def manual_rows(rows: Mapping[str, KnownAgent]) -> list[str]:
    """Returns the rows for the table at the end of the manual's page."""
    lines = []
    for id_, agent in sorted(rows.items()):
        command, runner = agent["command"], agent["runner"]
        names = dict.fromkeys([id_, id_.removesuffix("-acp"), command[0]])
        other = f"`{' '.join([*runner, *command[1:]])}`" if runner else ""
        if other and not agent["compared"]:
            other = f"({other})"
        words = " ".join(f"`@{name}`" for name in names)
        lines.append(f"| {words} | {agent['name']} | `{' '.join(command)}` | {other} |")
    return lines


def _download() -> bytes:
    with urllib.request.urlopen(URL, timeout=_TIMEOUT_S) as answer:
        data: bytes = answer.read()
    return data


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
