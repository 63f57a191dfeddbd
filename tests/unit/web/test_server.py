"""The window's application answers only requests that the guard allows, with the right command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import trio

from acp_proxy.web import server
from acp_proxy.web.streaming import BrokenOff
from tests.support.log_writer import record_conversation
from tests.support.window import Window

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def window(tmp_path: Path) -> Window:
    """Returns a window on a directory with one recording."""
    (tmp_path / "here").mkdir()
    record_conversation(tmp_path / "here/x.db")
    return Window(tmp_path / "here", tmp_path / "state")


async def test_only_plain_http_1_is_answered(window: Window) -> None:
    """`web` answers only HTTP/1.1: it refuses HTTP/2, and closes a WebSocket."""
    answer = await window.get("/api/block", more={"http_version": "2"})
    assert (answer.status, answer.body) == (505, b"it is not HTTP/1.1\n")
    answer = await window.get("/api/live", more={"type": "websocket"})
    assert (answer.status, answer.headers) == (0, {})


async def test_too_many_streams_are_refused(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If too many pages of `web` are open, a further page gets no data until one is closed."""
    monkeypatch.setattr(server, "_MOST_STREAMS", 1)
    async with window.stream("/api/recordings"):
        answer = await window.get("/api/block")
        assert (answer.status, answer.body) == (503, b"too many pages are open\n")
        assert (await window.get("/")).status == 200
    assert (await window.get("/api/block")).status == 410


async def test_a_failure_is_one_line_on_both_sides(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a bug makes a request of `web` fail, `web` prints one line that names the exception."""
    monkeypatch.setattr(server, "named", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):  # which Hypercorn drops
        await window.get("/api/live", rec="x.db")
    assert window.log == ["a request failed by ZeroDivisionError; the next times are not printed"]


async def test_an_answer_that_is_broken_off_prints_nothing(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a command that `web` runs fails after some output, only the page says so."""

    def broken(*_: object) -> None:
        raise ExceptionGroup("tasks", [ExceptionGroup("more", [BrokenOff()])])

    monkeypatch.setattr(server, "named", broken)
    with pytest.raises(ExceptionGroup):
        await window.get("/api/live", rec="x.db")
    assert window.log == []


async def test_the_list_ends_with_its_page(window: Window) -> None:
    """`web` streams its list of recordings to a page until the page is closed."""
    async with window.stream("/api/recordings") as stream:
        (entry,) = (await stream.line())["recordings"]
        assert entry["name"] == "x.db"


@pytest.mark.parametrize(("path", "params", "words"), [
    ("/api/search", {"q": "--help"}, ["search", "--json", "--", "--help", "{here}"]),
    ("/api/compare", {"a": "x.db", "b": "x.db"},
     ["report", "{here}/x.db", "--against", "{here}/x.db", "-o", "-"]),
    ("/api/save", {"rec": "x.db", "form": "text"}, ["export", "{here}/x.db"]),
    ("/api/save", {"rec": "x.db", "form": "report"}, ["report", "{here}/x.db", "-o", "-"]),
])  # fmt: skip
@pytest.mark.parametrize("is_shown", [False, True])
async def test_outputs_of_commands(
    tmp_path: Path, window: Window, monkeypatch: pytest.MonkeyPatch, path: str,
    params: dict[str, Any], words: list[str], is_shown: bool,
) -> None:  # fmt: skip
    """`web` makes searches, comparisons and copies by running `search`, `report` and `export`."""
    started: list[list[str]] = []

    class Output:
        def __init__(self, given: list[str], *_: object) -> None:
            started.append(given)

        async def __call__(self, _scope: object, _receive: object, send: object) -> None:
            assert callable(send)
            await send({"type": "http.response.start", "status": 200})
            await trio.lowlevel.checkpoint()

    monkeypatch.setattr(server, "CommandOutput", Output)
    here = tmp_path / "here"
    window = Window(here, tmp_path / "state", unredacted=is_shown)
    assert (await window.get(path, **params)).status == 200
    option = ["--unredacted"] if is_shown else []
    assert started == [[*option, *(word.format(here=here) for word in words)]]


async def test_the_proof_is_json(window: Window) -> None:
    """At `/proof`, `web` answers with JSON that proves that it knows the token."""
    answer = await window.get("/proof", challenge="c0ffee")
    assert json.loads(answer.body) == {"proof": window.address.proof("c0ffee")}
    assert answer.headers["content-type"] == "application/json"
