"""`doctor` reports the version, and the path of acp-proxy for the settings of an editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from acp_proxy import __version__
from acp_proxy.editors.doctor import doctor_checks
from acp_proxy.editors.doctor.doctor_checks import start_script, version
from tests.support.doctor_machine import lines, machine, program

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def system_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a directory with acp-proxy the PATH of graphical editors."""
    monkeypatch.setattr(doctor_checks, "SYSTEM_PATH", f"{tmp_path}/bin")


def test_the_versions(tmp_path: Path) -> None:
    """`doctor` prints the versions of acp-proxy, Python, SQLite and the system."""
    (line,) = lines(version(machine(tmp_path)))
    assert line.startswith(f"✓ acp-proxy {__version__}, Python 3.")


def test_a_start_script_that_editors_find_is_accepted(tmp_path: Path) -> None:
    """`doctor` accepts an acp-proxy in a directory in which editors look for programs."""
    assert lines(start_script(machine(tmp_path))) == [f"✓ {tmp_path}/bin/acp-proxy"]


@pytest.mark.parametrize("is_linked", [False, True], ids=["plain", "linked"])
def test_a_virtual_environment_may_go(tmp_path: Path, is_linked: bool) -> None:
    """`doctor` warns if acp-proxy is in a virtual environment."""
    context = machine(tmp_path)
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv/pyvenv.cfg").touch()
    script = program(tmp_path / "venv/bin/acp-proxy")
    if is_linked:
        (tmp_path / "bin/acp-proxy").unlink()
        (tmp_path / "bin/acp-proxy").symlink_to(script)
    else:
        context = evolve(context, own=(str(script),))
    actual = lines(start_script(context))
    assert f"! it is removed with the virtual environment {tmp_path}/venv" in actual
    assert any("is another program" in line for line in actual) is not is_linked


def test_the_environments_of_tools_stay(tmp_path: Path) -> None:
    """`doctor` does not warn about the environments of pipx and uv tool."""
    context = machine(tmp_path)
    for place in (".local/share/pipx/venvs/acp-proxy", ".local/share/uv/tools/acp-proxy"):
        script = program(tmp_path / place / "bin/acp-proxy")
        (tmp_path / place / "pyvenv.cfg").touch()
        (tmp_path / "bin/acp-proxy").unlink()
        (tmp_path / "bin/acp-proxy").symlink_to(script)
        for own in (script, tmp_path / "bin/acp-proxy"):
            assert len(lines(start_script(evolve(context, own=(str(own),))))) == 1


def test_a_path_that_editors_may_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor` warns if editors may not find acp-proxy, and reports if it is not executable."""
    monkeypatch.setattr(doctor_checks, "SYSTEM_PATH", "/nowhere")
    context = machine(tmp_path)
    path = context.own[0]
    fine, absent = lines(start_script(context))
    assert absent == ("! a graphical editor may look through /nowhere only, where acp-proxy is not")
    assert lines(start_script(evolve(context, is_temporary=True))) == [
        fine,
        f"! {path} is in a cache or a temporary directory and may be removed some day",
        absent,
    ]
    (line,) = lines(start_script(evolve(context, own=("/python", "-m", "acp_proxy"))))
    assert line.startswith("! /python -m acp_proxy: no start script was found")
    (tmp_path / "bin/acp-proxy").chmod(0o600)
    (wrong,) = start_script(context)
    assert (lines([wrong]), wrong.commands) == (
        [f"✗ {path} cannot be executed"],
        [f"chmod u+x {path}"],
    )
