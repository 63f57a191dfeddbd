"""`verify` gives its agent fresh directories, named like the recorded ones, for one run."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from acp_proxy.cli.group import Refusal
from acp_proxy.cli.playback.work_directory import directories


def test_each_recorded_directory_has_a_temporary_one() -> None:
    """`verify` replaces each recorded working directory by a temporary one of the same name."""
    recorded = ["/home/me/web", "/srv/web", "/home/me/web/sub/deep", "/home/me"]
    with directories(recorded, None) as places:
        web = places["/home/me/web"]
        assert web.endswith("/web")
        assert places["/srv/web"].endswith("/web-2")
        assert places["/home/me/web/sub/deep"] == f"{web}/sub/deep"
        assert len({*places.values()}) == 4
        assert all(Path(place).is_dir() for place in places.values())
    assert not any(Path(place).exists() for place in places.values())


def test_a_chosen_directory_is_the_first(tmp_path: Path) -> None:
    """`verify --cwd DIR` uses DIR for the first recorded directory, and keeps the files in it."""
    (tmp_path / "file").touch()
    with directories(["/a/b", "/a/b/c", "/d"], tmp_path) as places:
        assert places["/a/b"] == str(tmp_path)
        assert places["/a/b/c"] == str(tmp_path / "c")
        assert not places["/d"].startswith(str(tmp_path))
    assert (tmp_path / "file").exists()
    assert not (tmp_path / "c").exists()


def test_a_name_that_is_not_a_path_is_left_out() -> None:
    """If a recorded working directory cannot be a path, `verify` makes no temporary one for it."""
    with directories(["/nul\0", "/half\ud800", "nul\0"], None, "/start") as places:
        assert places == {}


def test_a_relative_directory_is_resolved_like_the_recorded_one(tmp_path: Path) -> None:
    """`verify` resolves a recorded relative path from the recorded agent's working directory."""
    recorded = [".", "sub", "./sub/../sub/deep", "", "/home/me/web/sub", "C:here", "a\\b"]
    with directories(recorded, tmp_path, "/home/me/web") as places:
        sub = f"{tmp_path}/sub"
        assert places == {
            "/home/me/web": str(tmp_path),
            "/home/me/web/sub": sub,
            "/home/me/web/sub/deep": f"{sub}/deep",
            "/home/me/web/C:here": f"{tmp_path}/C:here",
            "/home/me/web/a\\b": f"{tmp_path}/a\\b",
            ".": str(tmp_path),
            "sub": sub,
            "./sub/../sub/deep": f"{sub}/deep",
            "": str(tmp_path),
            "C:here": f"{tmp_path}/C:here",
            "a\\b": f"{tmp_path}/a\\b",
        }
        assert list(places)[-6:] == [root for root in recorded if root[:1] != "/"]
        assert all(Path(place).is_dir() for place in places.values())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("start", ["/home/me/web", "", "relative"])
def test_a_relative_directory_leads_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    """A recorded relative path never leads `verify` out of its temporary directories."""
    scratch, work = tmp_path / "scratch", tmp_path / "work"
    scratch.mkdir()
    work.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    recorded = [".", "..", "../x", "../../../../../../..", "sub/../../y"]
    with directories(recorded, work, start) as places:
        assert places["."] == str(work)
        others = [places[root] for root in recorded if root != "."]
        assert all(Path(place).is_relative_to(scratch) for place in others)
        assert all(Path(place).is_dir() and ".." not in place for place in others)
        assert Path(places["../x"]).name == "x"
        assert ("/home/me/web" in places) == (start == "/home/me/web")
        assert [*places] == recorded or start == "/home/me/web"
    with directories(["sub"], None, start) as places:
        assert Path(places["sub"]).name == "sub"
        assert Path(places["sub"]).is_relative_to(scratch)


def test_relative_directories_of_other_systems() -> None:
    """`verify` resolves a relative Windows path from the recorded agent's directory."""
    with directories(["..\\x", "D:y"], None, "C:\\w\\z") as places:
        assert Path(places["C:\\w\\x"]).name == "x"
        assert places["..\\x"] == places["C:\\w\\x"]
        assert Path(places["D:y"]).is_dir()


def test_other_systems_have_other_paths() -> None:
    """A recorded Windows path never leads `verify` out of its temporary directory."""
    with directories(["C:\\Users\\me", "/a/..", "/..", "\\\\host\\share\\x"], None) as places:
        assert places["C:\\Users\\me"].endswith("/me")
        scratch = places["C:\\Users\\me"].rsplit("/", 1)[0]
        assert all(place.startswith(f"{scratch}/") for place in places.values())
        assert all(".." not in place for place in places.values())


@pytest.mark.parametrize("name", ["x" * 300, "💥" * 90])
def test_a_long_name_is_cut(name: str) -> None:
    """If a recorded directory has a very long name, `verify` cuts the name between characters."""
    with directories([f"/{name}", f"/a/{name}"], None) as places:
        assert all(Path(place).is_dir() for place in places.values())
        assert name.startswith(Path(places[f"/{name}"]).name)
    with (
        pytest.raises(Refusal, match="file name too long"),
        directories(["/p", f"/p/{name}"], None),
    ):
        pass


def test_no_link_leads_out(tmp_path: Path) -> None:
    """`verify` refuses a symbolic link that leads out of the chosen working directory."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (work / "link").symlink_to(outside)
    with (
        pytest.raises(Refusal, match="leads out of"),
        directories(["/p", "/p/a/b", "/p/link/x/y"], work),
    ):
        pass
    assert not list(outside.iterdir())
    assert [path.name for path in work.iterdir()] == ["link"]


def test_directories_that_were_made_are_removed_if_empty(tmp_path: Path) -> None:
    """When `verify` ends, it removes the directories that it made, if they are empty."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    (work / "there").mkdir(parents=True)
    (outside / "deep").mkdir(parents=True)
    (outside / "file").touch()
    roots = ["/p", "/p/there", "/p/a/b", "/p/used/b", "/p/moved/deep", "/q"]
    with directories(roots, work) as places:
        (work / "used" / "file").touch()
        (work / "moved").rename(tmp_path / "moved")
        (work / "moved").symlink_to(outside)
        (Path(places["/q"]) / "link").symlink_to(outside)
    assert sorted(path.name for path in work.iterdir()) == ["moved", "there", "used"]
    assert [path.name for path in (work / "used").iterdir()] == ["file"]
    assert sorted(path.name for path in outside.iterdir()) == ["deep", "file"]
