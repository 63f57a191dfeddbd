"""Directories for an agent to work in: fresh, called as the recorded ones, and gone in the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_proxy.cli.main import Refusal
from acp_proxy.cli.scratch import directories


def test_each_recorded_directory_has_a_place() -> None:
    """Of its name; those of one name have one each, and what lies below stays below."""
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
    """It stays, with what is in it."""
    (tmp_path / "file").touch()
    with directories(["/a/b", "/a/b/c", "/d"], tmp_path) as places:
        assert places["/a/b"] == str(tmp_path)
        assert places["/a/b/c"] == str(tmp_path / "c")
        assert not places["/d"].startswith(str(tmp_path))
    assert (tmp_path / "file").exists()
    assert not (tmp_path / "c").exists()


def test_what_is_no_directory_stays_as_it_is() -> None:
    """Nobody knows what a relative path is relative to."""
    with directories(
        ["", "here", "../there", "C:here", "a\\b", "/nul\0", "/half\ud800"], None
    ) as places:
        assert places == {}


def test_other_systems_have_other_paths() -> None:
    """And other characters in them; none leads out of the scratch directory."""
    with directories(["C:\\Users\\me", "/a/..", "/..", "\\\\host\\share\\x"], None) as places:
        assert places["C:\\Users\\me"].endswith("/me")
        scratch = places["C:\\Users\\me"].rsplit("/", 1)[0]
        assert all(place.startswith(f"{scratch}/") for place in places.values())
        assert all(".." not in place for place in places.values())


@pytest.mark.parametrize("name", ["x" * 300, "💥" * 90])
def test_a_long_name_is_cut(name: str) -> None:
    """Where a file system would: by its bytes, and not within a character."""
    with directories([f"/{name}", f"/a/{name}"], None) as places:
        assert all(Path(place).is_dir() for place in places.values())
        assert name.startswith(Path(places[f"/{name}"]).name)
    with (
        pytest.raises(Refusal, match="file name too long"),
        directories(["/p", f"/p/{name}"], None),
    ):
        pass


def test_no_link_leads_out(tmp_path: Path) -> None:
    """Nothing is made where nobody has chosen to have anything."""
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


def test_what_was_made_goes_unless_it_is_used(tmp_path: Path) -> None:
    """And nothing goes that is elsewhere, even if a link now leads there."""
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
