"""The server of `acp-proxy web` as a process: who gets an answer, and how it starts and ends."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import stat
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest

from tests.integration.processes import DEADLINE_S, needs_proc, wait_until
from tests.integration.puppet_talk import environment_in, start, watch
from tests.support.log_writer import LogWriter, handshake, record_conversation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.fork_server import ForkServer

URL = re.compile(r"http://127\.0\.0\.1:(\d+)(/\S*)#token=([0-9a-f]{64})\n")
CHALLENGE = "/proof?challenge=c0ffee"


class RunningWindow:
    """One `acp-proxy web`, which has printed its URL or has ended.

    Attributes:
        url: the first line on stdout; empty if the command has printed none.
    """

    def __init__(
        self, fork_server: ForkServer, *words: str | Path, home: Path, **variables: str
    ) -> None:
        env = environment_in(home, XDG_STATE_HOME=str(home / "state"), **variables)
        given = ["web", *([] if "BROWSER" in variables else ["--no-open"]), *words]
        self.process, stdin, self._stdout, self._stderr = start(
            fork_server, given, home=home, env=env
        )
        stdin.close()
        self._watchdog = watch(self.process)
        self.url = self._stdout.readline().decode()
        if match := URL.fullmatch(self.url):
            self.port, self.path, self.token = int(match[1]), match[2], match[3]

    def __enter__(self) -> RunningWindow:
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.cancel()
        self.process.kill()
        self.process.wait()
        self._stdout.close()
        self._stderr.close()

    def end(self, signum: int | None = None) -> tuple[int, str]:
        """Waits for the end, after a signal if there is one; returns exit code and stderr."""
        if signum is not None:
            os.kill(self.process.pid, signum)
        errors = self._stderr.read().decode()
        return self.process.wait(DEADLINE_S), errors

    def get(self, path: str, token: str | None = "", **headers: str) -> Answer:
        """Makes a request, with the token unless it is another one or None."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        sent = {} if token is None else {"Authorization": f"Bearer {token or self.token}"}
        with contextlib.closing(connection):
            connection.request("GET", path, headers={**sent, **headers})
            response = connection.getresponse()
            return Answer(response.status, dict(response.headers), response.read())

    @contextlib.contextmanager
    def stream(self, path: str) -> Iterator[IO[bytes]]:
        """Opens a stream, and yields its body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
            response = connection.getresponse()
            assert response.status == 200
            yield response

    def send(self, data: bytes) -> bytes:
        """Sends bytes, and returns what comes until the server closes, or has answered."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE_S) as connection:
            with contextlib.suppress(OSError):  # the server may close before it has read all
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                return b"".join(iter(lambda: connection.recv(1 << 16), b""))
        return b""


class Answer:
    """A whole answer."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.body = status, body
        self.headers = {name.lower(): value for name, value in headers.items()}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home directory with a recording, and with one outside of the recordings directory."""
    home = tmp_path_factory.mktemp("home")
    (home / "recordings").mkdir()
    record_conversation(home / "recordings/x.db")
    record_conversation(home / "outside.db")
    return home


@pytest.fixture(scope="module")
def window(fork_server: ForkServer, home: Path) -> Iterator[RunningWindow]:
    """A window that many tests ask; each of them leaves it as it was."""
    with RunningWindow(fork_server, home=home) as running:
        yield running
        code, errors = running.end(signal.SIGINT)
    lines = errors.splitlines()
    assert code == 130
    assert all(line.startswith("acp-proxy: refused a request: ") for line in lines), errors
    assert len({*lines}) == len(lines) <= 6


@needs_proc
def test_only_this_machine_can_connect(window: RunningWindow) -> None:
    """The server of `acp-proxy web` listens on 127.0.0.1 and on no other address."""
    port = f"{window.port:04X}"
    sockets = [line.split() for name in ("tcp", "tcp6")
               for line in Path(f"/proc/net/{name}").read_text().splitlines()]  # fmt: skip
    listening = [
        words[1] for words in sockets if words[1].endswith(f":{port}") and words[3] == "0A"
    ]
    assert listening == [f"0100007F:{port}"]


def test_pages_are_the_same_without_data(window: RunningWindow, home: Path) -> None:
    """All pages of `web` are the same file, which contains neither recorded data nor the token."""
    pages = [window.get(path, None).body for path in ("/", "/r/x.db", "/r/no-such", "/r/a/../b")]
    assert len({*pages}) == 1
    for secret in (window.token, str(home), "x.db"):
        assert secret.encode() not in pages[0]


@pytest.mark.parametrize(("path", "status"), [
    ("/", 200), (CHALLENGE, 200), ("/proof", 400), ("/nothing", 404), ("/api/live/", 404),
    ("/api/live?rec=nothing", 404), ("/api/block?stream=0&name=c0", 410), ("/api/nothing", 404),
    ("/api/search?q=a%00b", 400),
])  # fmt: skip
def test_all_answers_have_the_headers(window: RunningWindow, path: str, status: int) -> None:
    """Each answer of the server of `web` has headers that forbid a cache and use by other sites."""
    answer = window.get(path)
    assert answer.status == status
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["content-type"]
    assert not {"set-cookie", "access-control-allow-origin", "server"} & {*answer.headers}
    if status >= 400:
        assert answer.body.count(b"\n") == 1
        assert answer.body.endswith(b"\n")


def test_requests_from_elsewhere_are_refused(window: RunningWindow) -> None:
    """If the host, origin or token of a request is wrong, the server of `web` refuses it."""
    good = f"127.0.0.1:{window.port}"
    for status, answer in (
        (421, window.get("/api/recordings", Host="localhost")),
        (421, window.get("/", Host="evil.com")),
        (403, window.get("/api/recordings", Origin="http://evil.com")),
        (403, window.get("/api/recordings", **{"Sec-Fetch-Site": "cross-site"})),
        (401, window.get("/api/recordings", None)),
        (401, window.get("/api/recordings", "0" * 64)),
    ):
        assert answer.status == status
        assert answer.headers["cache-control"] == "no-store"
        assert len(answer.body) < 100
    post = f"POST /api/recordings HTTP/1.1\r\nHost: {good}\r\nContent-Length: 2\r\n\r\nab"
    assert window.send(post.encode()).startswith(b"HTTP/1.1 405 ")
    assert window.get("/api/live?rec=x.db", None).body.count(b"\n") == 1


@pytest.mark.parametrize("name", [
    "../outside.db", "{home}/outside.db", "..%2Foutside.db", "%2e%2e%2foutside.db", "x.db%00",
    "x.db/../../outside.db", "./x.db", "x", "", ".", "..", "%ff", "x.db%0a", "X.DB",
])  # fmt: skip
def test_a_name_leads_to_no_other_file(window: RunningWindow, home: Path, name: str) -> None:
    """If a request to `web` names a file that is not in the list, the answer has status 404."""
    given = name.format(home=home)
    for path in ("/api/live?rec=", "/api/save?form=text&rec=", "/api/compare?a=x.db&b="):
        assert window.get(path + given).status == 404


UPGRADE = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: "
ODD_REQUESTS = {
    "no host": "GET / HTTP/1.1\r\n\r\n",
    "no host in HTTP/1.0": "GET / HTTP/1.0\r\n\r\n",
    "two hosts": "GET / HTTP/1.1\r\nHost: evil.com\r\n{host}\r\n",
    "an absolute target": "GET http://evil.com/ HTTP/1.1\r\n{host}\r\n",
    "a tunnel": "CONNECT evil.com:80 HTTP/1.1\r\n{host}\r\n",
    "an asterisk": "OPTIONS * HTTP/1.1\r\n{host}\r\n",
    "no HTTP": "\x16\x03\x01\x02\x00" * 50,
    "a null byte": "GET /\0 HTTP/1.1\r\n{host}\r\n",
    "no ASCII": "GET /\xff HTTP/1.1\r\n{host}\r\n",
    "odd escapes": "GET /%ff%00/%zz HTTP/1.1\r\n{host}\r\n",
    "an odd query": "GET /api/live?rec=%ff%00%ed%a0%80&&=%&\x7e HTTP/1.1\r\n{host}{token}\r\n",
    "an odd origin": "GET / HTTP/1.1\r\n{host}Origin: \xff\xfe\r\n\r\n",
    "an odd token": "GET /api/live HTTP/1.1\r\n{host}Authorization: Bearer \xff\r\n\r\n",
    "huge headers": "GET / HTTP/1.1\r\n{host}X: " + "a" * 200_000 + "\r\n\r\n",
    "a huge target": "GET /" + "a" * 200_000 + " HTTP/1.1\r\n{host}\r\n",
    "bad chunks": "GET / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a bad WebSocket": "GET / HTTP/1.1\r\n{host}" + UPGRADE + "websocket\r\n\r\n",
    "a WebSocket": "GET /api/live HTTP/1.1\r\n{host}{token}" + UPGRADE + "websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    "HTTP/2 with bad settings": "GET / HTTP/1.1\r\n{host}" + UPGRADE + "h2c\r\n"
    "HTTP2-Settings: a\r\n\r\n",
    "HTTP/2 at once": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "x" * 100,
}  # fmt: skip


@pytest.mark.parametrize("request_text", ODD_REQUESTS.values(), ids=ODD_REQUESTS)
def test_an_odd_request_harms_nobody(window: RunningWindow, request_text: str) -> None:
    """If a request is malformed, the server of `web` sends an error or nothing, and runs on."""
    host, token = f"Host: 127.0.0.1:{window.port}\r\n", f"Authorization: Bearer {window.token}\r\n"
    data = request_text.replace("{host}", host).replace("{token}", token)
    answer = window.send(data.encode("latin-1"))
    assert re.match(rb"HTTP/1\.1 (4\d\d|101) |\0\0\*\x04|$", answer)  # or settings of HTTP/2
    assert b"x.db" not in answer
    assert window.get(CHALLENGE).status == 200


def test_the_list_of_recordings_is_a_stream(window: RunningWindow) -> None:
    """`web` sends its list as a stream of JSON lines; the first line has all recordings."""
    with window.stream("/api/recordings") as lines:
        first = json.loads(lines.readline())
    assert [entry["name"] for entry in first["recordings"]] == ["x.db"]
    assert (first["removed"], first["complete"]) == ([], True)


def test_a_search_and_a_copy_are_those_of_commands(window: RunningWindow) -> None:
    """`web` answers a search with the hits of `search --json`, and saves what `export` writes."""
    hits = window.get("/api/search?q=careful")
    assert hits.status == 200
    assert [Path(json.loads(line)["path"]).name for line in hits.body.splitlines()] == ["x.db"]
    saved = window.get("/api/save?rec=x.db&form=text")
    assert saved.headers["acp-file"] == "x.jsonl"
    assert saved.body.startswith(b'{"acp_proxy":')
    assert b"careful" in saved.body


@needs_proc
def test_closed_tabs_leave_nothing_behind(window: RunningWindow) -> None:
    """If browser tabs are closed or requests refused, `web` closes the files it opened for them."""
    files = Path(f"/proc/{window.process.pid}/fd")

    def open_some() -> int:
        for _ in range(5):
            with window.stream("/api/live?rec=x.db") as records:
                json.loads(records.readline())
            assert window.get("/api/live", None).status == 401
        return len([*files.iterdir()])

    before = open_some()
    for _ in range(10):
        open_some()
    wait_until(lambda: len([*files.iterdir()]) < before + 30, "files of closed tabs to be closed")


def test_ctrl_c_ends_the_server_with_open_streams(fork_server: ForkServer, home: Path) -> None:
    """If Ctrl-C ends the server of `web` while streams are open, the exit code is 130."""
    directory = home / "chats"
    directory.mkdir()
    record_conversation(directory / "x.db")
    with LogWriter(directory / "running.db") as recorder:
        handshake(recorder)
        with (
            RunningWindow(fork_server, directory / "running.db", home=home) as running,
            running.stream("/api/recordings") as first,
            running.stream("/api/live?rec=x.db") as second,
            running.stream("/api/live?rec=running.db") as third,
        ):
            for stream in (first, second, third):
                assert stream.readline()
            assert running.path == "/r/running.db"
            assert running.end(signal.SIGINT) == (130, "")


def test_a_second_window_shows_the_first(fork_server: ForkServer, home: Path) -> None:
    """A second `web` for the same directory prints the URL of the first one, and exits with 0."""
    directory = home / "recordings"
    with RunningWindow(fork_server, directory, "--unredacted", home=home) as first:
        with RunningWindow(fork_server, directory, "--unredacted", home=home) as second:
            assert (second.url, second.end()) == (first.url, (0, ""))
        with RunningWindow(fork_server, "x", "--unredacted", home=home) as third:
            assert third.url == first.url.replace("/#", "/r/x.db#")
            assert third.end() == (0, "")
        with RunningWindow(
            fork_server, directory, "--unredacted", "--new-token", home=home
        ) as fourth:
            assert fourth.end() == (0, "")
        assert fourth.port == first.port
        assert first.get("/api/block").status == 401
        assert fourth.get("/api/block").status == 410


def test_another_program_on_the_port_learns_nothing(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    """If another program has taken the port of `web`, the program does not learn the old token.

    `web` then makes a new token.
    """
    (tmp_path / "recordings").mkdir()
    with RunningWindow(fork_server, home=tmp_path) as first:
        first.end(signal.SIGINT)
    heard: list[bytes] = []

    def answer(listener: socket.socket) -> None:
        with listener.accept()[0] as connection:
            heard.append(connection.recv(1 << 16))
            body = b'{"proof": "' + b"0" * 64 + b'"}'
            head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
            connection.sendall(head + body)

    with socket.create_server(("127.0.0.1", first.port)) as listener:
        thread = threading.Thread(target=answer, args=[listener])
        thread.start()
        with RunningWindow(fork_server, home=tmp_path) as second:
            thread.join(DEADLINE_S)
            assert second.port != first.port
            assert second.token != first.token
            assert second.get(CHALLENGE).status == 200
        with RunningWindow(fork_server, "--port", str(first.port), home=tmp_path) as third:
            code, errors = third.end()
    assert first.token.encode() not in heard[0]
    assert heard[0].startswith(b"GET /proof?challenge=")
    words = f"acp-proxy: expected a free port, got {first.port}: Address already in use\n"
    assert (third.url, code, errors) == ("", 2, words)


def test_a_restart_keeps_port_and_token(fork_server: ForkServer, tmp_path: Path) -> None:
    """If `web` is started again, it has the same port and token; a new port has a new token."""
    (tmp_path / "recordings").mkdir()
    urls: list[Any] = []
    for _ in range(2):
        with RunningWindow(fork_server, home=tmp_path) as running:
            running.end(signal.SIGINT)
            urls.append(running.url)
    assert urls[0] == urls[1]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with RunningWindow(fork_server, "--port", str(port), home=tmp_path) as other:
        assert other.port == port
        assert other.token not in urls[0]


@needs_proc
def test_the_browser_gets_a_private_file(fork_server: ForkServer, tmp_path: Path) -> None:
    """`web` gives the browser a private file with its URL, so the token is in no command line."""
    (tmp_path / "recordings").mkdir()
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\ntr "\\0" "\\n" < /proc/$$/cmdline > "$HOME/opened"\n')
    browser.chmod(0o700)
    with RunningWindow(fork_server, home=tmp_path, BROWSER=f"{browser} %s") as running:
        words = wait_until(lambda: _text(tmp_path / "opened"), "the browser to be opened")
        opened = Path(words.strip().rpartition("file://")[2])
        assert running.token not in words
        assert opened.parent == tmp_path / "state/acp-proxy"
        assert stat.S_IMODE(opened.stat().st_mode) == 0o600
        assert running.url.strip() in opened.read_text()


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
