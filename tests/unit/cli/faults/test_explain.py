"""``faults explain`` describes a plan in words."""

from __future__ import annotations

import json

from acp_proxy.faults.plan import KINDS
from tests.support.cases import each_case
from tests.support.command_line import complaint, run


def test_explain_in_words() -> None:
    """`faults explain` says in a sentence what each rule of a fault plan does, and when."""
    rule = "latency latency_ms=20 after=3 every=2 times=1 probability=0.5 window=1s..2s"
    said = run("faults", "explain", "-", "--fault", rule, "--fault", "stray-stdout text=x").stdout
    assert said.splitlines() == [
        "latency: any frame arrives 20 ms later; the first 3 pass, then one in 2, once, with a"
        " probability of 0.5, from 1 s to 2 s",
        "stray-stdout: any frame to-client arrives behind a stray line on stdout: x",
    ]


@each_case("kind", KINDS)
def test_every_kind_can_be_explained(kind: str) -> None:
    """`faults explain` prints a sentence for each kind of fault that a rule can have."""
    setting = "frame=x" if kind == "replace" else ""
    said = run("faults", "explain", "-", "--fault", f"{kind} {setting}").stdout
    assert said.startswith(f"{kind}: any frame ")


def test_explain_as_json() -> None:
    """`faults explain --json` has the same sentences as `faults explain`."""
    data = json.loads(run("faults", "explain", "@flaky-agent", "--json").stdout)
    assert data.keys() == {"about", "seed", "rules"}
    assert data["rules"][0].keys() == {"name", "kind", "where", "words"}


def test_explain_makes_control_characters_visible() -> None:
    """The text of a fault plan cannot control the terminal on which `faults explain` prints it."""
    assert "\x1b" not in run("faults", "explain", "@terminal-escapes").output


def test_explain_refuses() -> None:
    """`faults explain` refuses an unknown plan `@hung`, and `-` (no plan) without `--fault`."""
    assert complaint("faults", "explain", "-") == "expected a plan, or a rule with --fault"
    assert complaint("faults", "explain", "@hung").startswith("there is no ready plan @hung")
