"""Where the recordings of a test are.

A bare name is that of a file in the recordings directory, and what has a slash in it is a path from
the directory of the test's file. A story of several starts of the agent is NAME.jsonl, NAME.2.jsonl
and so on.
"""

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

_SUFFIXES = (".jsonl", ".db")
_DIRECTORIES = ("recordings", "acp_recordings")


def default_name(module: Path, names: Sequence[str]) -> str:
    """Names the recording of a test that says none.

    Args:
        module: the test's file.
        names: of the classes that the test is in, and of the test itself.
    """
    parts = [re.sub(r"^(test_|Test)", "", part) for part in (module.stem, *names)]
    return re.sub(r"[^\w.-]+", "-", "-".join(parts)).strip("-.") or "recording"


def recording_place(name: str, beside: Path, directory: Path | None) -> Path:
    """Finds the file that a name means; it need not exist.

    Args:
        name: the name or path.
        beside: the directory of the test's file.
        directory: where recordings are; None for ``recordings`` or ``acp_recordings`` beside it.
    """
    if "/" in name:
        place = beside / name
    else:
        usual = (beside / word for word in _DIRECTORIES if (beside / word).is_dir())
        place = (directory or next(usual, beside / _DIRECTORIES[0])) / name
    if place.suffix in _SUFFIXES:
        return place
    every = [place.with_name(place.name + suffix) for suffix in _SUFFIXES]
    return next((one for one in every if one.is_file()), every[0])


def numbered(place: Path, number: int) -> Path:
    """The file of one start of a story; the first one has the plain name."""
    return place if number == 1 else place.with_name(f"{place.stem}.{number}{place.suffix}")


def story(place: Path) -> list[Path]:
    """All files of a story that exist, in order."""
    files = (numbered(place, number) for number in itertools.count(1))
    return list(itertools.takewhile(Path.is_file, files))
