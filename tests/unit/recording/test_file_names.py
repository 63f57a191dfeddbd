"""Tests the recordings directory, and the name of a new recording."""

from __future__ import annotations

import os
import stat
import sys
from itertools import islice
from pathlib import Path

import platformdirs
import pytest

from acp_proxy.recording.file_names import (
    candidates,
    fresh_name,
    make_private,
    recordings_directory,
)
from tests.support.cases import each_case

WALL_NS = 1_750_000_000 * 10**9


def environment(
    patch: pytest.MonkeyPatch, home: str | None, data: str | None, chosen: str | None = None
) -> None:
    """Sets or removes the environment variables that choose the recordings directory."""
    for variable, value in (
        ("HOME", home),
        ("XDG_DATA_HOME", data),
        ("ACP_PROXY_RECORDINGS", chosen),
    ):
        if value is None:
            patch.delenv(variable, raising=False)
        else:
            patch.setenv(variable, value)


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="XDG is for Linux")


@on_linux
@pytest.mark.parametrize("home", ["/home/me", "/home/me/", "/", None])
@pytest.mark.parametrize("data", [None, "", " ", "/data", "/data/", "/with space", "/~"])
def test_the_directory_is_that_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, home: str | None, data: str | None
) -> None:
    """The default recordings directory is the directory that platformdirs names."""
    environment(monkeypatch, home, data)
    expected = platformdirs.user_data_dir("acp-proxy", appauthor=False)
    assert recordings_directory(os.environ) == expected


@on_linux
@pytest.mark.parametrize(
    ("home", "data"),
    [("/home/me", "data"), ("/home/me", "~/data"), ("/home/me", " /data"), ("", None), ("me", "")],
)
def test_relative_paths_are_ignored(
    monkeypatch: pytest.MonkeyPatch, home: str, data: str | None
) -> None:
    """If XDG_DATA_HOME is a relative path, the recordings directory is the default one."""
    environment(monkeypatch, home, data)
    expected = platformdirs.user_data_dir("acp-proxy", appauthor=False)
    assert recordings_directory(os.environ) == expected


@on_linux
def test_the_default_is_below_the_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Linux, recordings are in `~/.local/share/acp-proxy` by default."""
    environment(monkeypatch, "/home/me", None)
    assert recordings_directory(os.environ) == "/home/me/.local/share/acp-proxy"


@pytest.mark.parametrize("data", [r"C:\Users\me\AppData\Local", None])
def test_the_directory_on_windows(monkeypatch: pytest.MonkeyPatch, data: str | None) -> None:
    """On Windows, the default recordings directory is in the local application data."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path.replace("~", r"C:\Users\me"))
    environ = {} if data is None else {"LOCALAPPDATA": data}
    expected = r"C:\Users\me\AppData\Local" + os.sep + "acp-proxy"
    assert recordings_directory(environ) == expected


def test_the_directory_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment variable ACP_PROXY_RECORDINGS names the recordings directory."""
    environment(monkeypatch, "/home/me", "/data", "~/rec")
    assert recordings_directory(os.environ) == "/home/me/rec"
    monkeypatch.setenv("ACP_PROXY_RECORDINGS", "rec/../x")
    assert recordings_directory(os.environ) == str(Path.cwd() / "x")
    monkeypatch.setenv("ACP_PROXY_RECORDINGS", "")
    assert recordings_directory(os.environ).endswith("/acp-proxy")


def test_directories_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    """Only the owner can open a directory that a recorder creates."""
    tmp_path.chmod(0o755)
    make_private(str(tmp_path / "a" / "b"))
    make_private(str(tmp_path / "a" / "b"))
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (tmp_path, tmp_path / "a", tmp_path / "a/b")]
    assert modes == [0o755, 0o700, 0o700]


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    """If a file is in the place of the recordings directory, `make_private` raises `OSError`."""
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        make_private(str(tmp_path / "file" / "a"))
    with pytest.raises(FileExistsError):
        make_private(str(tmp_path / "file"))


@each_case(
    ("command", "agent"),
    [
        ("gemini", "gemini"),
        ("/usr/bin/claude-code-acp", "claude-code-acp"),
        ("./my agent.py", "my-agent"),
        ("agent.tar.gz", "agent-tar"),
        ("/opt/ünï/агент", "агент"),
        ("/", "agent"),
        ("...", "agent"),
        ("\udcff!", "agent"),
        ("x" * 99, "x" * 40),
    ],
)
def test_a_fresh_name_has_time_and_agent(command: str, agent: str) -> None:
    """The default file name of a recording has the time and the agent's name."""
    assert fresh_name([command], "c0ffee123456", WALL_NS) == f"20250615-150640-{agent}-c0ff"


def test_fresh_names_sort_by_time() -> None:
    """The default file names of recordings sort by the time of their start."""
    names = [fresh_name([agent], "ffff", WALL_NS + n * 10**9) for n, agent in enumerate("zya")]
    assert names == sorted(names)


def test_a_name_that_is_taken_is_numbered() -> None:
    """If the file name of a new recording is already taken, the new name gets a number."""
    assert list(islice(candidates("/a.b/x.db"), 3)) == ["/a.b/x.db", "/a.b/x-2.db", "/a.b/x-3.db"]
    assert list(islice(candidates("/a.b/x"), 2)) == ["/a.b/x", "/a.b/x-2"]
