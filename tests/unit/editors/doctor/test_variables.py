"""`doctor` reports variables that change how acp-proxy records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.editors.doctor.variables import variables
from tests.support.doctor_machine import lines, machine

if TYPE_CHECKING:
    from pathlib import Path


def test_set_variables_are_listed(tmp_path: Path) -> None:
    """`doctor` lists all environment variables of acp-proxy that have valid values on one line."""
    nothing = ["✓ no ACP_PROXY_* is set"]
    assert lines(variables(machine(tmp_path))) == nothing
    assert lines(variables(machine(tmp_path, ACP_PROXY_OFF=""))) == nothing
    actual = {
        "ACP_PROXY_OFF": "0", "ACP_PROXY_KEEP": "30d", "ACP_PROXY_LIST_CWD": "x",
        "ACP_PROXY_CHECK": "no",
    }  # fmt: skip
    assert lines(variables(machine(tmp_path, **actual))) == [
        "✓ ACP_PROXY_CHECK=no, ACP_PROXY_KEEP=30d, ACP_PROXY_LIST_CWD=x, ACP_PROXY_OFF=0"
    ]


@pytest.mark.parametrize("value", [":/x", "/x:", "/x::/y", "x:/y", "."])
def test_a_path_of_python_that_is_the_current_directory(tmp_path: Path, value: str) -> None:
    """`doctor` warns if PYTHONPATH has an empty or a relative part."""
    first, *_ = lines(variables(machine(tmp_path, PYTHONPATH=value)))
    assert first.startswith("! PYTHONPATH has an empty or a relative part")
    assert len(lines(variables(machine(tmp_path, PYTHONPATH="/x:/y")))) == 1


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("OFF", "1", "✗ ACP_PROXY_OFF=1: agents started from here are not recorded"),
        ("OFF", "maybe", "✗ ACP_PROXY_OFF=maybe: agents started from here are not recorded"),
        ("KEEP", "30", "✗ ACP_PROXY_KEEP: '30' is neither an age (30s, 10m, 8h, 30d, 4w) nor a "
                       "size (500kB, 500MB, 2GB, 2GiB); nothing is deleted"),
        ("GRACE", "x", "✗ ACP_PROXY_GRACE: 'x' is not a time: expected seconds, such as 5 or 0.5; "
                       "record does not start with this value"),
        ("CHECK", "x", "✗ ACP_PROXY_CHECK: 'x' is neither yes nor no; record does not start with "
                       "this value"),
        ("FAULTS", "@agent-hangs", "! ACP_PROXY_FAULTS=@agent-hangs: every agent that is recorded "
                                   "gets the faults of this plan"),
        ("FAULT", "nope", "✗ ACP_PROXY_FAULT: --fault 'nope': kind: there is no 'nope'; did you "
                          "mean noop?; record does not start with this value"),
        ("REDACT", "none", "! ACP_PROXY_REDACT=none: secrets are recorded as they are"),
        ("RECORDINGS", "/x", "! ACP_PROXY_RECORDINGS=/x: an editor without this variable records "
                             "elsewhere"),
        ("RECORDINGS", "x", "! ACP_PROXY_RECORDINGS=x: it is relative, so each program records "
                            "below its own directory"),
        ("FSYNC", "1", "! ACP_PROXY_FSYNC=1: `record --fsync` was removed: a recording survives "
                       "the end of acp-proxy, however it ends; only a power cut can lose bytes"),
        ("REPLAY_TIMING", "fixed:5", "! ACP_PROXY_REPLAY_TIMING=fixed:5: `replay --timing fixed:MS`"
                                     " was removed: `--timing recorded --idle-cap S` waits as "
                                     "recorded, S seconds at most"),
        ("KEPP", "1", "! ACP_PROXY_KEPP is no variable of acp-proxy; did you mean ACP_PROXY_KEEP?"),
    ],
)  # fmt: skip
def test_unusual_variables_are_reported(tmp_path: Path, name: str, value: str, line: str) -> None:
    """`doctor` reports a wrong or risky environment variable, such as ACP_PROXY_KEEP=30."""
    (variable,) = variables(machine(tmp_path, **{f"ACP_PROXY_{name}": value}))
    assert lines([variable]) == [line]
    assert variable.commands in ([], [f"unset ACP_PROXY_{name}"])
