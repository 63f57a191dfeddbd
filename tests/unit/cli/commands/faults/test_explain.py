"""``faults explain``: a plan in words, and what it would do to a recording."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_proxy.faults.registry import KINDS
from tests.commands import complaint, run

TOUR = Path(__file__).parents[5] / "recordings" / "tour.db"


def test_explain_in_words() -> None:
    """Each rule is a sentence, with its conditions."""
    rule = "latency latency_ms=20 after=3 every=2 times=1 probability=0.5 window=1s..2s"
    said = run("faults", "explain", "-", "--fault", rule, "--fault", "stray-stdout text=x").stdout
    assert said.splitlines() == [
        "latency: any frame arrives 20 ms later; the first 3 pass, then one in 2, once, with a"
        " probability of 0.5, from 1 s to 2 s",
        "stray-stdout: any frame to-client arrives behind a stray line on stdout: x",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_explained(kind: str) -> None:
    """It has words for what becomes of a frame."""
    setting = "frame=x" if kind == "replace" else ""
    said = run("faults", "explain", "-", "--fault", f"{kind} {setting}").stdout
    assert said.startswith(f"{kind}: any frame ")


def test_explain_on_a_recording() -> None:
    """Which frames are hit, and what becomes of them."""
    result = run(
        "faults", "explain", "@hung-permission", TOUR, "--fault", "drop where=method:no/such"
    )
    assert result.stdout.splitlines()[-1] == (
        "#18 → session/request_permission response: never arrives  [hung-permission]"
    )
    assert result.stderr == "acp-proxy: drop would never fire\n"


def test_frames_that_are_lost_together_are_one_line() -> None:
    """After a crash nothing arrives any more, which needs no line for each frame."""
    said = run("faults", "explain", "@crash-mid-frame", TOUR).stdout.splitlines()
    hits = [line for line in said if line.startswith("#")]
    assert len(hits) == 2
    assert hits[1] == "#11–#58: 48 frames never arrive  [crash]"


def test_explain_as_json() -> None:
    """The same for a program, with what arrives."""
    found = json.loads(run("faults", "explain", "@duplicate-reply", TOUR, "--json").stdout)
    (hit,) = found["hits"]
    assert (hit["seq"], hit["rules"]) == (34, ["duplicate-reply"])
    assert hit["injected"] == [hit["delivered"]]
    assert found["rules"][0]["fired"] == 1
    assert json.loads(run("faults", "explain", "@noisy-stderr", "--json").stdout)["hits"] is None


def test_explain_makes_control_characters_visible() -> None:
    """What a plan puts into the output does not command the terminal."""
    assert "\x1b" not in run("faults", "explain", "@terminal-escapes", TOUR).output


def test_explain_refuses() -> None:
    """Nothing to explain, an unknown plan, two seeds."""
    assert complaint("faults", "explain", "-") == "expected a plan, or a rule with --fault"
    assert complaint("faults", "explain", "@hung").startswith("there is no ready plan @hung")
    assert complaint("faults", "explain", "monday", "@crash-mid-frame") == (
        "expected the plan before the recording: `acp-proxy faults explain @crash-mid-frame monday`"
    )
    assert "two seeds" in complaint("faults", "explain", "@flaky-agent", "--seed", "77")
