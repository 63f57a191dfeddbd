"""Directories for an agent to work in: fresh, called as the recorded ones, and gone in the end."""

from __future__ import annotations

from pathlib import Path

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
    assert (tmp_path / "c").is_dir()


def test_what_is_no_directory_stays_as_it_is() -> None:
    """Nobody knows what a relative path is relative to."""
    with directories(["", "here", "../there", "/nul\0", "/half\ud800"], None) as places:
        assert places == {}


def test_other_systems_have_other_paths() -> None:
    """And other characters in them; none leads out of the scratch directory."""
    with directories(["C:\\Users\\me", "/a/..", "/..", "\\\\host\\share\\x"], None) as places:
        assert places["C:\\Users\\me"].endswith("/me")
        scratch = places["C:\\Users\\me"].rsplit("/", 1)[0]
        assert all(place.startswith(f"{scratch}/") for place in places.values())
        assert all(".." not in place for place in places.values())
