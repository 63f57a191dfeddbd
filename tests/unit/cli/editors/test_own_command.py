"""Tests how acp-proxy names itself in the settings of an editor."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from acp_proxy.cli.editors import own_command as own
from acp_proxy.cli.editors.own_command import is_temporary, own_command
from acp_proxy.editors.agents import Machine

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def script(directory: Path) -> Path:
    """Makes an executable script with the name `acp-proxy`."""
    directory.mkdir(exist_ok=True)
    path = directory / "acp-proxy"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_running_script_is_named_and_links_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`setup` writes the absolute path of the running acp-proxy and does not resolve links."""
    (tmp_path / "link").symlink_to(script(tmp_path / "real"))
    link = tmp_path / "bin/acp-proxy"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "link")
    machine = Machine({"PATH": str(tmp_path / "real")}, "linux", tmp_path)
    monkeypatch.chdir(tmp_path)
    for called in (str(link), "bin/acp-proxy"):
        monkeypatch.setattr(sys, "argv", [called])
        assert own_command(machine) == (str(link),)
    monkeypatch.setattr(sys, "argv", ["acp-proxy"])
    assert own_command(machine) == (str(tmp_path / "real/acp-proxy"),)


def test_a_module_has_the_script_beside_its_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If acp-proxy runs as a module, `setup` writes the path of the script beside its Python."""
    monkeypatch.setattr(sys, "argv", ["/x/acp_proxy/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv/python"))
    actual = script(tmp_path / "bin")
    machine = Machine({"PATH": str(actual.parent)}, "linux", tmp_path)
    assert own_command(machine) == (str(actual),)
    beside = script(tmp_path / "venv")
    assert own_command(machine) == (str(beside),)
    beside.unlink()
    actual.unlink()
    assert own_command(machine) == (str(tmp_path / "venv/python"), "-P", "-m", "acp_proxy")


def test_a_path_that_is_only_temporary_is_recognized() -> None:
    """`setup` treats acp-proxy's path as temporary if it is in `/tmp` or a cache such as uv's."""
    places = (
        "/home/me/.cache/uv/archive-v0/abc", "/tmp/clone/.venv", "/data/uvcache/archive-v0/abc",
        "/data/uvcache/environments-v2/abc", "/data/uvcache/builds-v0/.tmpabc",
        "/home/me/.cache/pipx/abc", "/home/me/.local/pipx/.cache/abc", "/tmp/pip-build-env-abc",
        "/Users/me/Library/Caches/pipx/abc", "/private/var/folders/ab/T/pip-ephem",
        "/home/me/.npm/_npx/abc/node_modules/.bin",
    )  # fmt: skip
    for place in places:
        assert is_temporary((f"{place}/bin/acp-proxy",)), place
    for place in ("/home/me/.local/bin", "/home/me/.local/share/uv/tools/acp-proxy", "/opt/tmpl"):
        assert not is_temporary((f"{place}/acp-proxy",)), place


def test_a_link_into_a_cache_goes_away_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If acp-proxy is a link into a cache directory, `setup` treats its path as temporary."""
    link = tmp_path / "acp-proxy"
    link.symlink_to("/nowhere/.cache/uv/archive-v0/abc/bin/acp-proxy")
    monkeypatch.setattr(own, "_TEMPORARY", re.compile(r"/\.cache/"))
    assert is_temporary((str(link),))
    assert not is_temporary((str(tmp_path / "other"),))
