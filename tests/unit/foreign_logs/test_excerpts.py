"""Excerpts of bug reports import from standard input, and ``show`` names what is wrong in them.

Their shapes are those of public reports, which ``index.json`` names; their content is ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands import run
from tests.texts import run_with

DIRECTORY = Path(__file__).parents[2] / "data" / "foreign_logs" / "excerpts"
EXCERPTS = json.loads((DIRECTORY / "index.json").read_text(encoding="utf-8"))
_READ = [one for one in EXCERPTS if "refused" not in one]
_REFUSED = [one for one in EXCERPTS if "refused" in one]
_SECTIONS = ("findings", "stderr  (1 line)")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recordings directory of all excerpts."""
    return tmp_path_factory.mktemp("excerpts")


def imported(excerpt: dict[str, Any], home: Path, *options: str) -> tuple[int, str]:
    """Imports an excerpt from standard input; returns the exit code and what is on stderr."""
    text = (DIRECTORY / f"{excerpt['file']}.txt").read_bytes()
    words = ("inspect", "import", "-", "--name", excerpt["file"], *options)
    result = run_with(text, *words, home=home)
    return result.exit_code, result.stderr


def said_of(name: str, home: Path) -> list[str]:
    """Returns the sentences of ``show`` on what is wrong or worth knowing."""
    said, section = [], ""
    for line in run("inspect", "show", name, home=home).stdout.splitlines():
        section = line if line in _SECTIONS or not line else section
        if section and line != section:
            said.append(line.strip())
    return said


def test_the_index_has_every_excerpt() -> None:
    """There are at least twenty shapes, each of them from a thread."""
    names = [one["file"] for one in EXCERPTS]
    assert sorted(names) == sorted(path.stem for path in DIRECTORY.glob("*.txt"))
    assert len({one["shape"] for one in EXCERPTS}) > 20
    assert all("#" in one["shape"] for one in EXCERPTS)


@pytest.mark.parametrize("excerpt", _READ, ids=[one["file"] for one in _READ])
def test_show_names_what_is_wrong_in_an_excerpt(excerpt: dict[str, Any], home: Path) -> None:
    """It has every message, knows what is missing, and says nothing but what is true."""
    name = excerpt["file"]
    options = []
    if "skip_bad" in excerpt:
        assert imported(excerpt, home) == (2, f"acp-proxy: cannot read {excerpt['skip_bad']}\n")
        options = ["--skip-bad"]
    code, stderr = imported(excerpt, home, *options)
    assert code == 0, stderr
    found = json.loads(run("inspect", "show", name, "--json", home=home).stdout)
    origin = found["recording"]["origin"]
    assert origin["source"] == excerpt["source"]
    assert sorted({"start", "middle", "parts"} & {*origin["lost"]}) == excerpt["lost"]
    assert sum(found["frames"].values()) == excerpt["frames"]
    assert said_of(name, home) == excerpt["says"]


@pytest.mark.parametrize("excerpt", _REFUSED, ids=[one["file"] for one in _REFUSED])
def test_an_excerpt_without_messages_is_refused_in_one_line(
    excerpt: dict[str, Any], home: Path
) -> None:
    """Whether or not lines may be skipped."""
    for options in ([], ["--skip-bad"]):
        code, stderr = imported(excerpt, home, *options)
        assert (code, stderr.count("\n")) == (2, 1)
        assert stderr.startswith(f"acp-proxy: cannot read {excerpt['refused']}")
    assert not list(home.glob(f"{excerpt['file']}*"))


def test_what_is_wrong_in_an_excerpt_is_in_its_headline(home: Path) -> None:
    """How much of each severity, and that hints alone are no problem."""
    names = ("lines-in-fence", "out-in-comments", "no-version")
    said = {}
    for name in names:
        found = next(one for one in EXCERPTS if one["file"] == name)
        imported(found, home, "-o", str(home / f"again-{name}.db"))
        said[name] = run("inspect", "show", f"again-{name}", home=home).stdout.splitlines()[0]
    assert said["lines-in-fence"].endswith("  imported  1 warning")
    assert said["out-in-comments"].endswith("  imported  no problems in what was imported, 1 info")
    assert said["no-version"].endswith("  imported  ✗ 1 error, 2 warnings")
