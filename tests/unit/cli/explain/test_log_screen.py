"""Tests the screens of `log` on a terminal: golden files, and the notes between lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from acp_proxy.cli.explain.log_screen import TimelineLayout
from acp_proxy.cli.screens.styled_text import Screen, clusters, columns_of
from acp_proxy.explain.log.folding import fold
from acp_proxy.recording import log_format as capture_log
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import (
    MS,
    LogWriter,
    handshake,
    notification,
    request,
    result,
    text,
    update,
)
from tests.tools.screens import GOLDEN, record_odd, screen, screens

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Returns the output of `log` by the name of its golden file."""
    return dict(screens(tmp_path_factory.mktemp("screens")))


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.iterdir()))
def test_screens_match_the_golden_files(shown: dict[str, str], name: str) -> None:
    """Each output of `log` on the recordings of the tests equals its golden file."""
    assert shown[name] == (GOLDEN / name).read_text(encoding="utf-8")


def test_every_screen_has_a_golden_file(shown: dict[str, str]) -> None:
    """Each golden file of `log` has an output, and each output has a golden file."""
    assert set(shown) == {path.name for path in GOLDEN.iterdir()}


def plain(line: str) -> str:
    """Returns a line without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


def test_recorded_text_does_not_control_the_terminal(shown: dict[str, str]) -> None:
    """Whatever a recording contains, `log` prints only printable characters and its own colours."""
    for name, content in shown.items():
        shown_text = plain(content).replace("\u200d", "")  # which joins the parts of an emoji
        assert all(map(str.isprintable, shown_text.split("\n"))), name
        assert ("\x1b" in content) == ("colour" in name)
        if "colour" in name:
            bare = shown[name.replace("-colour", "")]
            assert [line.rstrip() for line in plain(content).split("\n")] == bare.split("\n")


@pytest.mark.parametrize("columns", [1, 7, 20, 40, 79, 80, 109, 110, 111, 160, 400])
@pytest.mark.parametrize("color", [True, False])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, columns: int, color: bool) -> None:
    """No line of `log` is wider than the terminal, whatever wide characters it has."""
    path = record_odd(tmp_path / "x.db")
    for line in screen(path, columns, color=color).splitlines():
        assert sum(map(columns_of, clusters(plain(line)))) <= columns


def test_columns_stand_one_below_the_other(tmp_path: Path) -> None:
    """The content column of `log` begins at the same place in all lines."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for method in ("_a", "_你好", "_😀", "_e\u0301"):
            recorder.to_client(notification(method, x="HERE"))
        recorder.close()
    for columns in (80, 160, None):
        lines = screen(recorder.path, columns, color=False).splitlines()[-4:]
        places = {columns_of(line[: line.index("x=HERE")]) for line in lines}
        assert len(lines) == 4
        assert len(places) == 1


def test_of_a_long_id_a_terminal_shows_the_end(tmp_path: Path) -> None:
    """On a terminal, `log` shows only the end of a long id; a pipe gets all of the id."""
    ids = [f"cd613e30-d8f1-4adf-91b7-584a2265b1f{n}" for n in range(2)]
    with LogWriter(tmp_path / "x.db") as recorder:
        for id_ in (*ids, 7):
            recorder.to_agent(request(id_, "_a", x="HERE"))
        recorder.close()
    for columns, ends in (
        (80, '"…65b1f{}"'),
        (120, '"…65b1f{}"'),
        (160, '"…2265b1f{}"'),
        (None, f'"{ids[0][:-1]}{{}}"'),
    ):
        lines = screen(recorder.path, columns, color=False).splitlines()[-3:]
        assert [ends.format(n) in lines[n] for n in range(2)] == [True, True]
        if columns is not None:
            assert len({line.index("x=HERE") for line in lines[1:3]}) == 1


def test_a_pipe_gets_one_line_for_each(tmp_path: Path) -> None:
    """In a pipe, `log` prints one line for each frame or event."""
    path = record_odd(tmp_path / "x.db")
    with RecordingReader(path) as reader:
        items = list(fold(reader.rows()))
        count = sum(1 + len(item.get("members", ())) if isinstance(item, dict) else 1
                    for item in items)  # fmt: skip
    assert len(screen(path, None, color=False).splitlines()) == count
    assert len(screen(path, 80, color=False).splitlines()) == count + 1 + 2 + 2 - 1


def test_only_half_of_a_wide_terminal_is_before_the_content(tmp_path: Path) -> None:
    """On a terminal of 120 columns, the content column of `log` begins in the left half."""
    path = record_odd(tmp_path / "x.db")
    for columns, titles in (
        (80, ["#", "seconds", "message", "id", "content"]),
        (120, ["#", "seconds", "message", "id", "pair", "content"]),
        (140, ["#", "seconds", "message", "id", "pair", "size", "content"]),
    ):
        head, first, *_ = screen(path, columns, color=False).splitlines()
        assert head.split() == titles
        assert head.index("content") == first.index("agent: ")
        assert columns != 120 or head.index("content") <= columns / 2


def test_filtered_frames_make_no_pause(tmp_path: Path) -> None:
    """If a filter leaves out frames before a long pause, `log` does not mark the pause."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.t_ns += 6_000 * MS
        recorder.stderr("a")
        recorder.close()
    with RecordingReader(recorder.path) as reader:
        rows = list(reader.rows())
        every, some = (TimelineLayout(Screen(80), reader) for _ in range(2))
        lines = [line.strip() for row in rows for line in every.lines(row)]
        assert len([line for row in (rows[0], rows[3]) for line in some.lines(row)]) == 3
    pause = "··· 6.0 s, waiting for the client's next message ···"
    assert [line for line in lines if line.startswith("·")] == [pause]


def test_a_frame_and_its_pair_are_marked(tmp_path: Path) -> None:
    """`log --around` marks a frame and its answer with triangles."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.to_agent(request(5, "session/list"))
        recorder.stderr("a")
        recorder.to_client(result(5))
        recorder.close()
    with RecordingReader(recorder.path) as reader:
        rows = list(reader.rows())
        layout = TimelineLayout(Screen(80), reader)
        layout.mark(4, 6)
        _, *lines = [line for row in (rows[2], rows[3], rows[5]) for line in layout.lines(row)]
    assert [line[:7] for line in lines] == ["      3", "▸     4", "      ⋮", "▹     6"]
    assert 4 in layout.marked
    assert 6 in layout.marked


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [((2, 9), "  2–9 "), ((98, 103), "98–103 "), ((12340, 12399), "12340–99 ")],
)
def test_a_span_of_numbers_is_short_on_a_terminal(
    tmp_path: Path, numbers: tuple[int, int], shown: str
) -> None:
    """On a terminal, `log` shortens frame numbers such as 12340–12399 to 12340–99."""
    first, last = numbers
    with LogWriter(tmp_path / "x.db") as recorder:
        for _ in range(2):
            recorder.to_client(update("s", "agent_message_chunk", content=text("a")))
        recorder.close()
    with RecordingReader(recorder.path) as reader:
        rows = [{**row, "seq": seq} for row, seq in zip(reader.frames(), numbers, strict=True)]
        (run,) = fold(rows)
        assert [*TimelineLayout(Screen(80), reader).lines(run)][1].startswith(shown)
        assert next(TimelineLayout(Screen(), reader).lines(run)).split()[0] == f"{first}–{last}"


def test_long_methods_push_no_column_out(tmp_path: Path) -> None:
    """If a method is too long for its column, `log` cuts the method."""
    params = {"sessionId": "s", "toolCall": {"toolCallId": "c", "title": "Edit"}}
    with LogWriter(tmp_path / "x.db") as recorder:
        for number, method in enumerate(
            (
                "session/request_permission",
                "terminal/wait_for_exit",
                "fs/write_text_file",
                "_x/" * 20,
            )
        ):
            recorder.to_client(request(number, method, **params))
            recorder.to_agent(result(number))
    lines = screen(recorder.path, 80, color=False).splitlines()[2:]
    assert len({line.index("#") for line in lines}) == 1
    assert [line[16:38].rstrip() for line in lines] == [
        "request_permission", "request_permission ✓", "terminal/wait_for_ex…",
        "terminal/wait_for_… ✓", "fs/write_text_file", "fs/write_text_file ✓",
        "_x/_x/_x/_x/_x/_x/_x…", "_x/_x/_x/_x/_x/_x/… ✓",
    ]  # fmt: skip


def test_an_update_has_its_kind_for_a_method(tmp_path: Path) -> None:
    """For a session update, `log` shows the kind of the update, such as `plan`, as the method."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for kind in ("agent_message_chunk", "plan", "x y", ""):
            recorder.to_client(update("s", kind, content=text("Hi"), entries=[]))
    lines = [line.split() for line in screen(recorder.path, None, color=False).splitlines()[1:]]
    assert [line[3] for line in lines] == [
        "agent_message_chunk", "plan", "session/update", "session/update",
    ]  # fmt: skip
    assert lines[0][-1] == "Hi"


def test_ends_of_streams_are_one_line_only_if_they_come_at_once(tmp_path: Path) -> None:
    """If two streams ended at the same time for the same reason, `log` prints one line for both."""
    with LogWriter(tmp_path / "x.db") as recorder:
        ends = (capture_log.TO_AGENT, "a"), (capture_log.STDERR, "a"), (capture_log.TO_CLIENT, "b")
        for stream, reason in ends:
            recorder.event(capture_log.END, stream, reason=reason)
        recorder.t_ns += 2_000 * MS
        recorder.event(capture_log.END, capture_log.TO_CLIENT, reason="b")
    lines = screen(recorder.path, 80, color=False).splitlines()[2:]
    assert [line.split(maxsplit=4)[-1] for line in lines] == [
        "to-agent, stderr ended: a", "to-client ended: b", "to-client ended: b",
    ]  # fmt: skip
    assert lines[0].split()[0] == "2–3"
