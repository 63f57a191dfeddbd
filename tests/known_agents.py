"""Writes `acp_proxy/known_agents.py` and its page of the manual anew, from the official registry.

``make agents`` reads the registry's file from its site; ``make agents REGISTRY=FILE`` reads a file
of the same form. What was read is named in the result by its checksum, and each agent by its
version, and by the commit of its entry where the file has it. The repository that each package
names on npm or PyPI is compared with the one that the registry has for the agent.
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
    from collections.abc import Callable, Sequence

TABLE = Path(__file__).parents[1] / "acp_proxy" / "known_agents.py"
MANUAL = Path(__file__).parents[1] / "docs" / "known-agents.md"
URL = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json"
_PYPI = "https://pypi.org/pypi"
_TIMEOUT_S = 60
_RUNNERS = {"npx": ("npx", "-y"), "uvx": ("uvx",)}
"""How a package is run that is not installed."""
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
"""What an installed agent is called, where that is not the name of its package or its file."""
_MARK = " = {\n"


def main(words: list[str]) -> int:
    """Writes the table; returns the exit code."""
    data = Path(words[0]).read_bytes() if words else _download()
    registry = json.loads(data)
    rows = {agent["id"]: row(agent, named_repositories) for agent in registry["agents"]}
    TABLE.write_text(
        with_rows(TABLE.read_text("utf-8"), rows, hashlib.sha256(data).hexdigest()), "utf-8"
    )
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", TABLE], check=True)
    kept = [line for line in MANUAL.read_text("utf-8").splitlines() if not line.startswith("| `@")]
    MANUAL.write_text("\n".join([*kept, *manual_rows(rows), ""]), "utf-8")
    print(f"{len(rows)} agents; checksum of the table: {checksum(rows)}")  # noqa: T201
    return 0


def row(
    agent: dict[str, Any], ask: Callable[[Sequence[str]], list[str]], day: str = ""
) -> tuple[Any, ...]:
    """Makes a row of the table of an agent of the registry: see ``AGENTS``.

    Args:
        agent: the agent's entry.
        ask: `named_repositories`.
        day: the day of the comparison, if it is not today.
    """
    kinds = agent["distribution"]
    runner: tuple[str, ...] = ()
    found: dict[str, Any] = {}
    program = ""
    for kind, start in _RUNNERS.items():
        if kind in kinds:
            found = kinds[kind]
            package = re.sub(r"(?<=.)(@|==).*", "", found["package"])
            runner, program = (*start, package), package.rpartition("/")[2]
    if "binary" in kinds:
        systems = kinds["binary"]
        found = systems.get("linux-x86_64") or next(iter(systems.values()))
        program = re.split(r"[/\\]", found["cmd"])[-1].removesuffix(".exe")
    program = _PROGRAMS.get(agent["id"], program)
    env = {name: value for name, value in found.get("env", {}).items() if "UPDATE" not in name}
    facts = [agent["version"], agent.get("commit", "-")[:12]]
    project = plain_repository(agent.get("repository", ""))
    if runner and project and project in ask(runner):
        facts += [f"{day or datetime.now(UTC).date()}", project]
    return agent["name"], (program, *found.get("args", ())), runner, env, " ".join(facts)


def plain_repository(url: str) -> str:
    """Returns host and path of a repository's address, which has several spellings."""
    url = re.sub(r"^(git\+)?[a-z]+://(git@)?(www\.)?|^git@", "", url.strip().lower())
    return re.sub(r"(\.git)?/?$", "", re.sub(r"^([\w.]+):", r"\1/", url))


def named_repositories(runner: Sequence[str]) -> list[str]:
    """Returns the repositories that a package names; none if there is no such package.

    Args:
        runner: the words that run the package, which is the last.
    """
    program, package = runner[0], runner[-1]
    if program == "npx":
        asked = ["npm", "view", package, "repository.url"]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=_TIMEOUT_S)
        found = [done.stdout] if done.returncode == 0 else []
    else:
        with urllib.request.urlopen(f"{_PYPI}/{package}/json", timeout=_TIMEOUT_S) as answer:
            found = list((json.load(answer)["info"]["project_urls"] or {}).values())
    return [plain_repository(url) for url in found]


def with_rows(source: str, rows: dict[str, tuple[Any, ...]], read: str) -> str:
    """Returns the module with other rows.

    Args:
        source: the module.
        rows: the rows, by the agents' ids.
        read: the SHA-256 of what they were made of.
    """
    head, _, rest = source.partition(_MARK)
    tail = rest.partition("\n}\n")[2]
    head = re.sub(r'REGISTRY_SHA256 = ".*"', f'REGISTRY_SHA256 = "{read}"', head)
    head = re.sub(r'ROWS_SHA256 = ".*"', f'ROWS_SHA256 = "{checksum(rows)}"', head)
    lines = "".join(f"    {key!r}: {value!r},\n" for key, value in sorted(rows.items()))
    return f"{head}{_MARK}{lines.rstrip()}\n}}\n{tail}"


def manual_rows(rows: dict[str, tuple[Any, ...]]) -> list[str]:
    """Returns the rows of the manual's table, which is the end of its page."""
    lines = []
    for id_, (name, command, runner, _, facts) in sorted(rows.items()):
        names = dict.fromkeys([id_, id_.removesuffix("-acp"), command[0]])
        other = f"`{' '.join([*runner, *command[1:]])}`" if runner else ""
        if other and len(facts.split()) == 2:
            other = f"({other})"
        words = " ".join(f"`@{one}`" for one in names)
        lines.append(f"| {words} | {name} | `{' '.join(command)}` | {other} |")
    return lines


def checksum(rows: dict[str, Any]) -> str:
    """Returns the SHA-256 of the rows, by which a change by hand is noticed."""
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def _download() -> bytes:
    with urllib.request.urlopen(URL, timeout=_TIMEOUT_S) as answer:
        data: bytes = answer.read()
    return data


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
