"""Makes the source of the test that ``inspect export --format pytest`` writes.

Texts from the recording are untrusted, so they are reduced to characters that have no meaning in
Python at their place.
"""

import re

_TEMPLATE = '''\
"""{title}

The conversation is in

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

    This one is the recorded client. PUT YOUR OWN IN ITS PLACE: start your client with
    `agent.command` as the command of its agent, do what the user did,
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
    """Returns the source of the test.

    Args:
        name: of the test, from `name_of_test`.
        client: the name of the recorded client.
        agent: the name of the recorded agent.
        date: of the recording.
        what: the part of the conversation that is played, such as ``turn 2``.
        prompts: the prompts of the user.
    """
    title = f"{harmless(client)} and {harmless(agent)}, {what}, on {harmless(date)}."
    asked = [f"    - {harmless(prompt)}" for prompt in prompts] or ["    - nothing"]
    return _TEMPLATE.format(title=title, name=name, what=what, prompts="\n".join(asked))


def name_of_test(name: str) -> str:
    """Returns a name that a test, a Python file and a recording can have."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.removeprefix("test_").lower()).strip("_")[:60]
    return plain.rstrip("_") or "recording"


def harmless(text: str) -> str:
    """Reduces a text to one line that cannot end a docstring."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    plain = " ".join(plain.replace("\\", "/").replace('"', "'").split())
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"
