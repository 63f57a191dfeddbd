"""``acp-proxy web`` chooses the page to begin with, and refuses in one line."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.support.command_line import complaint, run
from tests.support.log_writer import LogWriter, handshake, record_conversation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of recordings with a finished one; the server is not run."""
    home = tmp_path / "recordings"
    home.mkdir()
    record_conversation(home / "over.db")
    monkeypatch.setattr("acp_proxy.cli.web._serve", lambda *values: values[-1].close())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return home


@pytest.fixture
def running(home: Path, tmp_path: Path) -> Iterator[None]:
    """Two running recordings: the older one is of the current directory, the newer one is not."""
    with (
        LogWriter(home / "here.db", cwd=str(tmp_path)) as here,
        LogWriter(home / "there.db", cwd="/elsewhere", wall=1_760_000_000 * 10**9) as there,
    ):
        handshake(here)
        handshake(there)
        yield


def page_of(result: Result) -> str:
    """Returns the path in the URL that ``web`` has printed as its only line."""
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    (line,) = result.stdout.splitlines()
    url = urlsplit(line)
    assert url.hostname == "127.0.0.1"
    assert url.fragment.startswith("token=")
    return url.path


def test_the_list_comes_first_if_nothing_runs(home: Path) -> None:
    """`web` begins with the list of recordings if no recording is running."""
    assert page_of(run("web", "--no-open", home=home)) == "/"


@pytest.mark.usefixtures("running")
def test_the_chat_of_the_current_directory_comes_first(home: Path, tmp_path: Path) -> None:
    """`web` begins with the chat of the current directory, or else with the newest running one.

    With REC, it begins with REC, and with DIR, with the list of this directory.
    """
    assert page_of(run("web", "--no-open", home=home)) == "/r/here.db"
    (home / "here.db.log").rename(tmp_path / "here.db.log")
    assert page_of(run("web", "--no-open", home=home)) == "/r/there.db"
    assert page_of(run("web", "--no-open", "over", home=home)) == "/r/over.db"
    assert page_of(run("web", "--no-open", home)) == "/"


def test_what_cannot_be_served_is_refused_in_one_line(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`web` exits with 2 for an unknown recording, a port that is taken, and a bad state directory.

    Its one line on stderr says what is wrong.
    """
    assert "nothing like this" in complaint("web", "--no-open", "nothing like this", home=home)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = complaint("web", "--no-open", "--port", port, home=home)
    assert line == f"expected a free port, got {port}: Address already in use"
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "over.db"))
    line = complaint("web", "--no-open", home=home)
    assert line.startswith("the window cannot be opened: ")
    assert "over.db" in line
