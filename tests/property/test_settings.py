"""`setup` adds an entry to any settings file, and removes it, without changing other bytes."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_proxy.base.errors import BadSettings
from acp_proxy.editors.jsonc import decode, parse
from acp_proxy.editors.settings_changes import ChangeLog, SettingsFile, add, read, restored, undo
from acp_proxy.editors.settings_edits import entries, insertion, without
from tests.support.jsonc_oracle import value_of

SECTION, NAME = "agent_servers", "OpenCode (recorded)"
ENTRY = {
    "type": "custom",
    "command": "/home/me/.local/bin/acp-proxy",
    "args": ["record", "--", "/opt/open code", "acp", 'a"b\\', "é\u2028\ud800"],
    "env": {"A": "b"},
}

_CHARACTERS = '/*,{}[]:"\\ aé\u2028\U0001f600'
_NAMES = ("theme", "//", "/*", "command", "a,}", "OpenCode", "x", "é")


def documents() -> st.SearchStrategy[bytes]:
    """Draws settings files, ordinary and unusual ones."""
    return st.integers(0, 1 << 40).map(lambda seed: document_of(Random(seed)))


def document_of(chance: Random) -> bytes:
    """Returns a settings file with random contents."""
    root = values_of(chance, 2)
    if chance.random() < 0.7:
        root[SECTION] = values_of(chance, 2)
        root = {name: root[name] for name in chance.sample(list(root), len(root))}
    newline = chance.choice(["\n", "\r\n", "\r"])
    writer = Writer(chance, newline, chance.choice(["  ", "\t", "   ", ""]))
    text = chance.choice(["", "\ufeff"]) + writer.blank(0)
    if chance.random() < 0.9:
        text += writer.value(root, 0) + writer.blank(0)
    return text.encode()


def values_of(chance: Random, depth: int) -> dict[str, Any]:
    """Returns a JSON object with random members."""
    names = chance.sample(_NAMES, chance.randrange(4))
    return {name: value_by(chance, depth) for name in names}


def value_by(chance: Random, depth: int) -> Any:
    """Returns a random JSON value."""
    match chance.randrange(8) if depth else chance.randrange(5):
        case 0:
            return None
        case 1:
            return chance.random() < 0.5
        case 2:
            return chance.choice([0, -7, 1.5, 1e30])
        case 3 | 4:
            return "".join(chance.choices(_CHARACTERS, k=chance.randrange(6)))
        case 5:
            return [value_by(chance, depth - 1) for _ in range(chance.randrange(4))]
    return values_of(chance, depth - 1)


class Writer:
    """Writes JSON with blanks, comments and trailing commas at any place that allows them."""

    def __init__(self, chance: Random, newline: str, unit: str) -> None:
        self._chance = chance
        self._newline = newline
        self._unit = unit
        self._is_wild = chance.random() < 0.5

    def _decides(self) -> bool:
        return self._chance.random() < 0.5

    def blank(self, depth: int) -> str:
        """Returns blanks and comments, as they may stand between two JSON tokens."""
        line = self._newline + self._unit * depth
        if not self._is_wild:
            return line
        parts = ["", " ", line, f" // c,}}{line}", "/* c */", f"/* {{{line}*/", "\t", self._newline]
        return "".join(self._chance.choices(parts, k=self._chance.randrange(3)))

    def value(self, value: Any, depth: int) -> str:
        """Returns a JSON value as text."""
        if isinstance(value, dict):
            members = [
                json.dumps(name, ensure_ascii=self._decides())
                + (f"{self.blank(depth)}:{self.blank(depth)}" if self._is_wild else ": ")
                + self.value(each, depth + 1)
                for name, each in value.items()
            ]
            return self._container("{", members, "}", depth)
        if isinstance(value, list):
            items = [self.value(each, depth + 1) for each in value]
            return self._container("[", items, "]", depth)
        return json.dumps(value, ensure_ascii=self._decides())

    def _container(self, start: str, parts: list[str], end: str, depth: int) -> str:
        text = start
        for number, part in enumerate(parts):
            text += self.blank(depth + 1) + part
            if number < len(parts) - 1 or self._decides():
                text += (self.blank(depth + 1) if self._is_wild else "") + ","
        return text + self.blank(depth) + end


def value_or_nothing(data: bytes) -> Any:
    """Returns the JSON value of a document; an empty object if the document is empty."""
    parsed = value_of(data)
    return {} if parsed is None else parsed


@settings(max_examples=200)
@given(documents())
def test_the_parser_reads_what_the_oracle_reads(data: bytes) -> None:
    """`setup` reads the same values from settings with comments as a second, simple parser."""
    root = parse(decode(data))
    assert (None if root is None else root.value) == value_of(data)
    text = decode(data)
    for member in root.members if root else ():
        assert value_of(text[member.node.start : member.node.end].encode()) == member.node.value


@settings(max_examples=200)
@given(documents())
def test_an_entry_is_added_beside_the_others(data: bytes) -> None:
    """When `setup` adds an entry to settings, the other text does not change."""
    change = insertion(data, SECTION, NAME, ENTRY)
    old = value_or_nothing(data)
    assert value_of(change.after) == {**old, SECTION: {**old.get(SECTION, {}), NAME: ENTRY}}
    assert change.after.replace(change.piece, b"", 1) == data or (
        change.after[: change.offset] + change.after[change.offset + len(change.piece) :] == data
    )
    if b"\n" not in data.replace(b"\r\n", b""):
        assert b"\r" not in data or b"\n" not in change.after.replace(b"\r\n", b"")


@given(documents(), documents())
def test_an_entry_is_removed_wherever_it_stands(data: bytes, other: bytes) -> None:
    """When `setup` removes an entry from settings, the other text does not change."""
    agents = {"first": 1, NAME: ENTRY, "last": value_or_nothing(other)}
    for names in (["first", NAME, "last"], [NAME, "first"], ["first", NAME], [NAME]):
        some = json.dumps({SECTION: {name: agents[name] for name in names}}, indent=1)
        rest = without(some.encode(), SECTION, NAME, ENTRY)
        left = {name: agents[name] for name in names if name != NAME}
        assert value_of(rest) == {SECTION: left}
        assert list(value_of(rest)[SECTION]) == list(left)
    change = insertion(data, SECTION, NAME, ENTRY)
    rest = without(change.after, SECTION, NAME, ENTRY)
    old = value_or_nothing(data)
    assert value_of(rest) == {**old, SECTION: old.get(SECTION, {})}
    rest_of_after = iter(change.after)
    assert all(byte in rest_of_after for byte in rest)  # nothing is added, moved or rewritten


@given(documents(), st.sampled_from(["file", "link", "missing"]))
def test_undo_restores_every_byte(data: bytes, kind: str) -> None:
    """`setup --undo` restores every byte of a settings file."""
    with tempfile.TemporaryDirectory() as place:
        path = settings_in(Path(place), data, kind)
        before = surroundings(path)
        written = write(path)
        assert read(path).data == written != data
        if kind != "missing":
            assert surroundings(path)[1:] == before[1:]
        undo(log_of(path, read(path)), read(path))
        assert surroundings(path) == before
        assert {file.name for file in path.parent.iterdir()} <= {"settings.json", "real", "log"}
        assert list((path.parent / "log").iterdir()) == []


@given(documents(), st.integers(0, 3), st.sampled_from([None, {}, "a"]))
def test_undo_after_another_change_removes_the_entry_alone(
    data: bytes, where: int, value: Any
) -> None:
    """`setup --undo` removes its entry, but keeps text that was added around the entry."""
    change = insertion(data, SECTION, NAME, ENTRY)
    edits = [
        change.after.rstrip() + b" // more\n",
        change.after.removeprefix("\ufeff".encode()).join([b"/* more */", b""]),
        _added(change.after, "other", "x", value),
        _added(change.after, SECTION, "y", value),
    ]
    edited = edits[where]
    if edited == change.after:
        return
    with tempfile.TemporaryDirectory() as place:
        path = settings_in(Path(place), data, "file")
        write(path)
        path.write_bytes(edited)
        undo(log_of(path, read(path)), read(path))
        rest = read(path).data
        assert rest is not None
        rest_value, expected = value_or_nothing(rest), value_of(edited)
        del expected[SECTION][NAME]
        expected = {**expected, SECTION: expected[SECTION]}
        assert {**rest_value, SECTION: rest_value.get(SECTION, {})} == expected


def _added(data: bytes, section: str, name: str, value: Any) -> bytes:
    try:
        return insertion(data, section, name, value).after
    except BadSettings:  # such as when this member is not an object
        return data + b" "


@given(documents())
def test_a_change_in_between_is_refused(data: bytes) -> None:
    """If a settings file has changed since it was read, `setup` does not overwrite it."""
    with tempfile.TemporaryDirectory() as place:
        path = settings_in(Path(place), data, "file")
        file = read(path)
        change = insertion(data, SECTION, NAME, ENTRY)
        path.write_bytes(data + b" ")
        with pytest.raises(BadSettings, match="has changed since it was read"):
            add(log_of(path, file), file, change, SECTION, NAME)
        assert path.read_bytes() == data + b" "
        assert log_of(path, file).read() == []


@given(documents(), st.booleans())
def test_read_only_is_refused(data: bytes, is_directory: bool) -> None:
    """`setup` does not change a read-only settings file."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place, "config")
        directory.mkdir()
        path = settings_in(directory, data, "file")
        (directory if is_directory else path).chmod(0o500 if is_directory else 0o400)
        try:
            file = read(path)
            log = ChangeLog(Path(place, "log"), file)
            with pytest.raises(BadSettings, match="read-only"):
                add(log, file, insertion(data, SECTION, NAME, ENTRY), SECTION, NAME)
            assert path.read_bytes() == data
            assert log.read() == []
        finally:
            directory.chmod(0o700)


@given(documents(), documents())
def test_undo_of_a_changed_entry_is_refused(data: bytes, other: bytes) -> None:
    """If the entry that `setup` added was changed, `setup --undo` refuses to remove it."""
    file = SettingsFile(Path("x"), Path("x"), data)
    change = insertion(data, SECTION, NAME, ENTRY)
    with tempfile.TemporaryDirectory() as place:
        path = settings_in(Path(place), data, "file")
        write(path)
        (kept,) = log_of(path, file).read() or log_of(path, read(path)).read()
    with pytest.raises(BadSettings, match="changed since"):
        restored(kept, change.after.replace(b"/opt/open code", b"/opt/other"))
    if NAME not in entries(other, SECTION):
        with pytest.raises(BadSettings, match="no entry"):
            restored(kept, other + b" ")


def settings_in(directory: Path, data: bytes, kind: str) -> Path:
    """Creates a settings file of a given kind, and returns its path."""
    path = directory / "settings.json"
    if kind == "link":
        (directory / "real").mkdir()
        (directory / "real" / "it").write_bytes(data)
        path.symlink_to("real/it")
    elif kind == "file":
        path.write_bytes(data)
    if kind != "missing":
        path.chmod(0o640)
    return path


def write(path: Path) -> bytes:
    """Adds the entry to a settings file, and returns the new contents."""
    file = read(path)
    change = insertion(file.data or b"", SECTION, NAME, ENTRY)
    add(log_of(path, file), file, change, SECTION, NAME)
    return change.after


def log_of(path: Path, file: SettingsFile) -> ChangeLog:
    """Returns the log of the changes to a settings file, which is in the same directory."""
    return ChangeLog(path.parent / "log", file)


def surroundings(path: Path) -> tuple[bytes | None, int, str]:
    """Returns the contents and the mode of a file, and the target of its link."""
    if not path.exists():
        return None, 0, ""
    link = str(path.readlink()) if path.is_symlink() else ""
    return path.read_bytes(), stat.S_IMODE(os.stat(path).st_mode), link  # noqa: PTH116
