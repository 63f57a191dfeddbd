"""Only the page itself, and only with the token, gets data."""

from __future__ import annotations

import hmac
import os
import stat
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from acp_proxy.web.access import AddressFile, Guard, new_address, state_directory

if TYPE_CHECKING:
    from acp_proxy.web.access import Address

DAY_S = 86_400
PORT = 8017
HOST = f"127.0.0.1:{PORT}"


@pytest.fixture
def file(tmp_path: Path) -> AddressFile:
    """Returns the file of a window, in a state directory that does not exist yet."""
    return AddressFile(tmp_path / "state", tmp_path, unredacted=False)


class Requests:
    """Makes requests to one guard.

    Attributes:
        log: what the guard has printed.
    """

    def __init__(self, file: AddressFile) -> None:
        self.address = new_address(PORT)
        file.write(self.address)
        self.log: list[str] = []
        self.guard = Guard(file, self.address, self.log.append)

    def status(
        self, path: str = "/api/live", method: str = "GET", **headers: str | None
    ) -> HTTPStatus | None:
        """Returns the status with which a request is refused; None if it is allowed."""
        sent = {"host": HOST, "authorization": f"Bearer {self.address.token}", **headers}
        given = {name.replace("_", "-"): v for name, v in sent.items() if v is not None}
        refusal = self.guard.refusal(method, path, given)
        return refusal and refusal[0]


@pytest.fixture
def requests(file: AddressFile) -> Requests:
    """Returns what makes requests."""
    return Requests(file)


def test_a_request_of_the_page_is_allowed(requests: Requests) -> None:
    """The page of `web` gets data with its token, also in browsers without fetch metadata."""
    assert requests.status() is None
    origin = f"http://{HOST}"
    assert requests.status(origin=origin, sec_fetch_site="same-origin") is None
    assert requests.log == []


@pytest.mark.parametrize("host", [
    f"localhost:{PORT}", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8018", "evil.com",
    f"evil.com:{PORT}", f"127.0.0.1.evil.com:{PORT}", f"[::1]:{PORT}", f"0.0.0.0:{PORT}",
    f"127.1:{PORT}", f"{HOST}.", f" {HOST}", f"{HOST},evil.com", "", None,
])  # fmt: skip
def test_any_other_host_is_refused(requests: Requests, host: str | None) -> None:
    """`web` refuses a request whose Host header is not `127.0.0.1:PORT`, against DNS rebinding."""
    for path in ("/", "/r/x.db", "/proof", "/api/live", "/favicon.ico"):
        assert requests.status(path, host=host) == HTTPStatus.MISDIRECTED_REQUEST
    assert len(requests.log) == 1


@pytest.mark.parametrize(
    "origin", ["null", "", "http://evil.com", f"https://{HOST}", f"http://{HOST}/", "file://"]
)
def test_another_origin_is_refused(requests: Requests, origin: str) -> None:
    """`web` refuses all requests from pages of other origins, even with the token."""
    for path in ("/", "/proof", "/api/live"):
        assert requests.status(path, origin=origin) == HTTPStatus.FORBIDDEN


def test_another_site_can_only_link_to_a_page(requests: Requests) -> None:
    """A link on another site can open a page of `web`, but gets no data and cannot embed it."""
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    for path in ("/", "/r/x.db"):
        assert requests.status(path, **link, sec_fetch_dest="document") is None
        for destination in ("iframe", "embed", "object", "frame", "script", "image", "empty"):
            assert requests.status(path, **link, sec_fetch_dest=destination) is not None
    for path in ("/proof", "/api/live", "/api/save", "/R/x.db", "/r"):
        assert requests.status(path, **link, sec_fetch_dest="document") == HTTPStatus.FORBIDDEN
    for mode in ("no-cors", "cors", "websocket", "same-origin"):
        refused = requests.status(
            "/", sec_fetch_site="same-site", sec_fetch_mode=mode, sec_fetch_dest="document"
        )
        assert refused == HTTPStatus.FORBIDDEN


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "get"])
def test_only_get_is_allowed(requests: Requests, method: str) -> None:
    """`web` refuses requests with a method other than GET."""
    for path in ("/", "/proof", "/api/live"):
        assert requests.status(path, method) == HTTPStatus.METHOD_NOT_ALLOWED


def test_data_need_the_token(requests: Requests) -> None:
    """`web` sends data only to requests with the whole token; pages without data need none."""
    token = requests.address.token
    assert len(bytes.fromhex(token)) == 32
    wrong = (None, "", "Bearer", f"bearer {token}", token, f"Bearer {token[:-1]}", "Bearer \xff",
             f"Bearer {token} ", f"Bearer {token.upper()}", "Bearer " + "0" * 64)  # fmt: skip
    for value in wrong:
        assert requests.status(authorization=value) == HTTPStatus.UNAUTHORIZED, value
        assert requests.status("/", authorization=value) is None
        assert requests.status("/proof", authorization=value) is None
    assert len(requests.log) == 1
    assert token not in requests.log[0]


@pytest.mark.parametrize(("age_days", "is_refused"), [(0, False), (29.9, False), (30, True),
                                                      (-1, False), (-31, True)])  # fmt: skip
def test_a_token_ends_after_thirty_days(
    file: AddressFile, monkeypatch: pytest.MonkeyPatch, age_days: float, is_refused: bool
) -> None:
    """`web` refuses a token that is 30 days old, and one that is dated 31 days in the future."""
    requests = Requests(file)
    later = requests.address.made_at + age_days * DAY_S
    monkeypatch.setattr("acp_proxy.web.access.time.time", lambda: later)
    assert (requests.status() == HTTPStatus.UNAUTHORIZED) == is_refused
    assert (file.read() is None) == is_refused


def test_a_new_token_replaces_the_old_one_at_once(file: AddressFile, requests: Requests) -> None:
    """If a new token is in the state file, a running `web` at once refuses the old one."""
    assert requests.status() is None
    old, new = requests.address, new_address(PORT)
    file.write(new)
    assert requests.status() == HTTPStatus.UNAUTHORIZED
    assert requests.status(authorization=f"Bearer {new.token}") is None
    assert requests.guard.prove("ab") == new.proof("ab") != old.proof("ab")


def test_the_file_of_another_port_does_not_change_the_token(
    file: AddressFile, requests: Requests
) -> None:
    """If the state file gets a token for another port, or is deleted, `web` keeps its token."""
    file.write(new_address(PORT + 1))
    assert requests.status() is None
    file.path.unlink()
    assert requests.status() is None


def test_a_proof_shows_the_token_to_nobody(requests: Requests) -> None:
    """`web` proves that it knows the token by an HMAC, without sending the token."""
    key, words = requests.address.token.encode(), f"acp-proxy web c0ffee {HOST}"
    assert requests.guard.prove("c0ffee") == hmac.new(key, words.encode(), sha256).hexdigest()
    assert evolve(requests.address, port=PORT + 1).proof("c0ffee") != requests.guard.prove("c0ffee")
    for challenge in ("", " ", "a b", "a\n", "é", "٣", "x" * 129, "a\0"):
        assert requests.guard.prove(challenge) is None, challenge


def test_ten_thousand_bad_requests_print_one_line_each_kind(requests: Requests) -> None:
    """However many requests `web` refuses, it prints each reason only once."""
    for number in range(10_000):
        assert requests.status(f"/api/{number}", host=f"evil-{number}.com") is not None
        assert requests.status(authorization=f"Bearer {number}") is not None
    assert len(requests.log) == 2
    assert "evil" not in "".join(requests.log)


def test_the_state_is_private(file: AddressFile, requests: Requests) -> None:
    """Only their owner can open the files with the token of `web`, and these files' directory."""
    directory = file.path.parent
    opener = file.write_opener(requests.address.url("/"))
    for path, mode in ((file.path, 0o600), (opener, 0o600), (directory, 0o700)):
        assert stat.S_IMODE(path.stat().st_mode) == mode
    assert requests.address.token in opener.read_text()
    directory.chmod(0o777)
    file.write(requests.address)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert sorted(path.name for path in directory.iterdir()) == [opener.name, file.path.name]


def _open_to_others(path: Path) -> None:
    path.chmod(0o640)


def _link(path: Path) -> None:
    path.rename(path.with_suffix(".other"))
    path.symlink_to(path.with_suffix(".other"))


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def _no_json(path: Path) -> None:
    path.write_bytes(b"\xff{")


def _other_json(path: Path) -> None:
    path.write_text('["port"]')


@pytest.mark.parametrize("spoil", [_open_to_others, _link, _pipe, _no_json, _other_json],
                         ids=lambda spoil: spoil.__name__)  # fmt: skip
def test_a_state_file_of_others_is_not_trusted(
    file: AddressFile, requests: Requests, spoil: object
) -> None:
    """`web` trusts no state file that is a link, or that other users could have written."""
    assert callable(spoil)
    assert file.read() == requests.address
    spoil(file.path)
    assert file.read() is None
    file.write(requests.address)
    assert file.read() == requests.address


def test_a_state_file_of_another_owner_is_not_trusted(
    file: AddressFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`web` trusts no state file that belongs to another user."""
    owner = os.getuid()
    monkeypatch.setattr("acp_proxy.web.access.os.getuid", lambda: owner + 1)
    assert file.read() is None


def test_each_directory_and_choice_has_its_own_file(tmp_path: Path) -> None:
    """Each recordings directory, and each choice of options, has its own state file of `web`."""
    places = (("/a", False), ("/b", False), ("/a", True), ("/a\udcff", False))
    files = [AddressFile(tmp_path, Path(place), unredacted=shown).path for place, shown in places]
    assert len({*files}) == 4
    assert AddressFile(tmp_path, Path("/a"), unredacted=False).path == files[0]


def test_the_state_directory_follows_the_environment() -> None:
    """The state file of `web` is below XDG_STATE_HOME, but not if this is a relative path."""
    assert state_directory({"XDG_STATE_HOME": "/x"}) == Path("/x/acp-proxy")
    home = Path.home() / ".local/state/acp-proxy"
    assert state_directory({}) == state_directory({"XDG_STATE_HOME": "x"}) == home


def test_the_url_has_the_token_in_its_fragment() -> None:
    """The URL that `web` opens has its token in the fragment, which browsers do not send."""
    address: Address = new_address(PORT)
    assert address.url("/r/x.db") == f"http://{HOST}/r/x.db#token={address.token}"
    assert new_address(PORT).token != address.token
