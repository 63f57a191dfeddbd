"""The test that ``inspect export --format pytest`` writes, as text.

What it says of the recording was chosen by strangers, so it is reduced to characters that mean
nothing in Python, wherever they stand.
"""

import re

_TEMPLATE = '''\
"""{title}

What they said to each other is in

    recordings/{name}.jsonl

a line of JSON for each message. acp-proxy plays the agent of it, and fails the test where the
client diverges from what was recorded.
"""

import subprocess
import sys

import pytest

from acp_proxy.pytest_plugin import AcpAgent


def run_client(agent: AcpAgent) -> None:
    """Runs a client with the agent, and ends both.

    This one is the recorded client: it says what it said. PUT YOUR OWN IN ITS PLACE: start your
    client with `agent.command` as the command of its agent, do what the user did,
{prompts}
    and quit it.
    """
    recorded = [sys.executable, "-P", "-m", "acp_proxy.client", str(agent.recording)]
    subprocess.run([*recorded, "--", *agent.command], check=True, timeout=60)


@pytest.mark.acp_recording("{name}")
def test_{name}(acp_agent: AcpAgent) -> None:
    """The client goes through {what} as it did when that was recorded."""
    run_client(acp_agent)
'''
_LONGEST = 60


def source_of_test(
    name: str, *, client: str, agent: str, date: str, what: str, prompts: list[str]
) -> str:
    """Writes the test.

    Args:
        name: what `name_of_test` makes of the recording's name.
        client: who talked.
        agent: to whom.
        date: when.
        what: what of the conversation is played, such as ``turn 2``.
        prompts: what the user said.
    """
    title = f"{harmless(client)} and {harmless(agent)}, {what}, on {harmless(date)}."
    said = [f"    - {harmless(prompt)}" for prompt in prompts] or ["    - nothing"]
    return _TEMPLATE.format(title=title, name=name, what=what, prompts="\n".join(said))


def name_of_test(name: str) -> str:
    """Makes a name that a test, a Python file and a recording can have."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.removeprefix("test_").lower()).strip("_")[:60]
    return plain.rstrip("_") or "recording"


def harmless(text: str) -> str:
    """Reduces a text to one line that means nothing in a docstring."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    plain = " ".join(plain.replace("\\", "/").replace('"', "'").split())
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"
