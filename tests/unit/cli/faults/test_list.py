"""``faults list`` lists the kinds of faults, their settings, and the ready plans."""

from __future__ import annotations

import json

from acp_proxy.cli.faults.list_ import PLANS
from acp_proxy.faults.plan import KINDS, ready_plans
from tests.support.command_line import complaint, run


def test_list_has_all_kinds_and_plans() -> None:
    """`faults list` prints each kind of fault with its settings, and each plan with its purpose."""
    said = run("faults", "list").stdout
    for kind in KINDS:
        assert f"\n{kind}\n" in f"\n{said}"
    for name in ready_plans():
        assert f"  @{name} " in said
    assert "  latency_ms = 100.0  number. The delay.\n" in said
    assert "  probability = 1.0  number." in said


def test_each_plan_is_in_one_group() -> None:
    """Each ready fault plan is in exactly one group of `faults list`."""
    assert sorted(name for names in PLANS.values() for name in names) == sorted(ready_plans())


def test_list_can_be_narrowed() -> None:
    """`faults list` with kinds of fault prints only these, and refuses an unknown kind."""
    said = run("faults", "list", "drop", "noop").stdout
    assert said == "noop\n  Nothing happens.\n\ndrop\n  The frame never arrives.\n\n"
    assert complaint("faults", "list", "dorp") == "there is no kind 'dorp'; did you mean drop?"


def test_list_as_json() -> None:
    """`faults list --json` has the same kinds and plans as `faults list`."""
    listed = json.loads(run("faults", "list", "--json").stdout)
    assert [kind["kind"] for kind in listed["kinds"]] == list(KINDS)
    (mode, *_) = next(k for k in listed["kinds"] if k["kind"] == "corrupt")["settings"]
    assert (mode["default"], mode["choices"][0]) == ("flip", "flip")
    assert set(listed["plans"]) == set(ready_plans())
    assert listed["triggers"][0]["name"] == "where"
