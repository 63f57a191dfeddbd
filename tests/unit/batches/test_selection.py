"""Tests which recordings the words of a batch name."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_proxy.base.errors import NoSuchRecording
from acp_proxy.batches import names_several
from acp_proxy.batches.results import ResultsHeader, line_of
from acp_proxy.batches.selection import selected

FILES = ("b.db", "a.jsonl", "sub/c.db", "sub/deep/d.db", "x[1].db", "note.txt", "b.db.log")
HIDDEN = (".hidden.db", ".git/e.db", "sub/.f.jsonl")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with recordings in ``recs``."""
    for name in (*FILES, *HIDDEN):
        path = tmp_path / "recs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    (tmp_path / "recs" / "results.jsonl").write_bytes(line_of(ResultsHeader("", "", "", ())))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*words: str, without: tuple[Path, ...] = ()) -> list[str]:
    """Returns the names of the selected recordings."""
    return [item.name for item in selected(words, Path, without)]


ALL = ["recs/a.jsonl", "recs/b.db", "recs/sub/c.db", "recs/sub/deep/d.db", "recs/x[1].db"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["recs"], ALL),
        (["recs/"], ALL),
        (["./recs"], [f"./{name}" for name in ALL]),
        (["recs/sub", "recs"], ["recs/sub/c.db", "recs/sub/deep/d.db", *ALL[:2], ALL[4]]),
        (["recs/*.db"], ["recs/b.db", "recs/x[1].db"]),
        (["recs/**/*.db"], ["recs/b.db", "recs/sub/c.db", "recs/sub/deep/d.db", "recs/x[1].db"]),
        (["recs/**"], ALL),
        (["recs/*"], ALL),
        (["recs/s*"], ["recs/sub/c.db", "recs/sub/deep/d.db"]),
        (["recs/x[1].db"], ["recs/x[1].db"]),
        (["recs/b.db", "recs/*.db", "recs/b.db"], ["recs/b.db", "recs/x[1].db"]),
        (["recs/note.txt"], ["recs/note.txt"]),
    ],
)
@pytest.mark.usefixtures("here")
def test_words_name_recordings(words: list[str], expected: list[str]) -> None:
    """`check` of directories and patterns selects each recording in them once, sorted by name."""
    assert names(*words) == expected


def test_an_absolute_directory_names_absolute_paths(here: Path) -> None:
    """If `check` gets a directory by its absolute path, it names recordings by absolute paths."""
    assert names(str(here / "recs")) == [str(here / name) for name in ALL]
    (actual,) = selected(["run"], lambda word: here / f"{word}.db")
    assert actual.name == str(here / "run.db")


def test_files_and_directories_can_be_left_out(here: Path) -> None:
    """A batch of a directory or pattern selects no recording in the paths that `without` names."""
    assert names("recs", without=(here / "recs" / "sub", Path("recs/b.db"))) == [ALL[0], ALL[4]]
    for pattern in ("recs/**", "recs/[sb]*", "recs/*"):
        assert not [name for name in names("recs/b.db", pattern, without=(here / "recs" / "sub",))
                    if "sub" in name]  # fmt: skip


@pytest.mark.parametrize("word", ["empty", "recs/*.none", "recs/.git/*.none"])
def test_a_word_for_nothing_is_an_error(here: Path, word: str) -> None:
    """If a directory or pattern that `check` gets has no recordings, `check` ends with an error."""
    (here / "empty").mkdir()
    with pytest.raises(NoSuchRecording, match="no recordings in"):
        names(word)


@pytest.mark.parametrize(
    ("word", "several"),
    [
        ("recs", True),
        ("no/*.db", True),
        ("recs/x[1].db", False),
        ("latest", False),
        ("-", False),
        ("file:///recs/b.db", True),
        ("s3://b/x.db", False),
    ],
)
@pytest.mark.usefixtures("here")
def test_directories_and_patterns_name_several(word: str, several: bool) -> None:
    """`check` treats a directory or `*.db` as several recordings, but `latest` and `-` as one."""
    assert names_several(word) is several


def test_a_shared_path_names_what_every_machine_has(here: Path) -> None:
    """`check file://PATH` selects the same files as `check PATH`, as files that workers share."""
    for word in (here / "recs", here / "recs" / "sub" / "*.db", here / "recs" / "b.db"):
        actual = selected([f"file://{word}"], Path)
        assert all(item.is_shared and item.name == item.path for item in actual)
        assert [item.name for item in actual] == names(str(word))
    with pytest.raises(NoSuchRecording, match="no recordings in /no/such"):
        selected(["file:///no/such"], Path)
