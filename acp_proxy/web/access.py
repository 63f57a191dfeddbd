"""Decides which requests the live window answers. Requests for data need the token.

Requests from pages of another origin, and requests for another host than the window's, are refused.
A page asks for a proof, so that another program on the port does not get the token.
`docs/commands/web.md` lists the rules.
"""

import hmac
import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path

from attrs import define, field, frozen

from acp_proxy.base import system
from acp_proxy.base.forms import converter
from acp_proxy.recording.file_names import make_private

LOOPBACK = "127.0.0.1"
_TOKEN_BYTES = 32
_LASTS_S = 30 * 86_400
"""How long a token can be used, in seconds."""
_LONGEST_CHALLENGE = 128
_SAME_SITE = ("same-origin", "none")
"""The values of ``Sec-Fetch-Site`` for requests of the page itself, or of a person."""


def state_directory(environ: Mapping[str, str]) -> Path:
    """Returns the directory for files that outlive a command: ``$XDG_STATE_HOME/acp-proxy``.

    Args:
        environ: the environment variables.
    """
    chosen = environ.get("XDG_STATE_HOME", "")
    base = Path(chosen)
    return (base if base.is_absolute() else Path.home() / ".local" / "state") / "acp-proxy"


@frozen
class Address:
    """Where a window is served, and the token that opens it."""

    port: int
    token: str
    made_at: float
    """When the token was made, in seconds since 1970."""

    @property
    def host(self) -> str:
        """The value of the header ``Host`` in requests to this address."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def is_old(self) -> bool:
        """Whether the token has expired: `made_at` differs from now by 30 days or more."""
        return abs(time.time() - self.made_at) >= _LASTS_S

    def url(self, path: str) -> str:
        """Returns the URL of a page. The fragment, which no browser sends, has the token.

        Args:
            path: the path of the page.
        """
        return f"http://{self.host}{path}#token={self.token}"

    def proof(self, challenge: str) -> str:
        """Returns the answer to a challenge; only a holder of the token can compute the answer.

        Args:
            challenge: the text of the challenge.
        """
        words = f"acp-proxy web {challenge} {self.host}"
        return hmac.new(self.token.encode(), words.encode(), sha256).hexdigest()


def new_address(port: int) -> Address:
    """Returns an address with a new token.

    Args:
        port: the port of the server.
    """
    return Address(port, secrets.token_hex(_TOKEN_BYTES), time.time())


class AddressFile:
    """The file with the address of the window on one directory. Only the user can read the file.

    Args:
        state: the state directory.
        directory: the directory of the recordings.
        unredacted: whether secrets are shown; a window with secrets has a file of its own.
    """

    def __init__(self, state: Path, directory: Path, *, unredacted: bool) -> None:
        words = f"{directory}\0{unredacted}"
        name = sha256(words.encode(errors="surrogateescape")).hexdigest()[:16]
        self.path = state / f"web-{name}.json"
        self.opener = state / f"web-{name}.html"
        """A page that leads to the window. The browser is opened on this file, so that the token is
        in no list of processes."""

    def read(self) -> Address | None:
        """Returns the address in the file, or None.

        The result is None if there is no valid file, if the token has expired, or if another user
        could read or write the file.
        """
        with (
            suppress(OSError, ValueError, TypeError, KeyError),
            open(self.path, opener=_open_without_links) as file,
        ):
            if _is_private(os.fstat(file.fileno())):
                kept = json.load(file)
                address = Address(int(kept["port"]), str(kept["token"]), float(kept["made_at"]))
                return None if address.is_old else address
        return None

    def write(self, address: Address) -> None:
        """Writes an address into the file, in place of the old address.

        Args:
            address: the address.

        Raises:
            OSError: the file cannot be written.
        """
        directory = self.path.parent
        make_private(str(directory))
        directory.chmod(0o700)  # refused if another user owns it
        self._replace(self.path, json.dumps(converter.unstructure(address)))

    def write_opener(self, url: str) -> Path:
        """Writes a page that leads to a URL; returns the path of the page's file.

        Args:
            url: the URL; it contains no markup.

        Raises:
            OSError: the file cannot be written.
        """
        page = f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={url}">\n'
        self._replace(self.opener, page)
        return self.opener

    @staticmethod
    def _replace(path: Path, text: str) -> None:
        new = path.with_name(f"{path.name}.{os.getpid()}")
        with suppress(FileNotFoundError):
            new.unlink()
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        new.replace(path)


def _open_without_links(path: str, flags: int) -> int:
    """Opens a file; refuses a symbolic link, and never waits for a pipe."""
    return os.open(path, flags | system.PLAIN)


def _is_private(status: os.stat_result) -> bool:
    """Whether a path is a file that only this user can use."""
    is_closed = stat.S_ISREG(status.st_mode) and status.st_mode & 0o077 == 0
    return is_closed and status.st_uid == os.getuid()


@define
class Guard:
    """Decides for each request whether it is allowed.

    Attributes:
        log: prints a line.
    """

    _file: AddressFile
    _address: Address
    log: Callable[[str], None]
    _noted: set[str] = field(factory=set)

    @property
    def address(self) -> Address:
        """The address with the current token; `--new-token` may have replaced an earlier token."""
        kept = self._file.read()
        if kept is not None and kept.port == self._address.port:
            self._address = kept
        return self._address

    def refusal(
        self, method: str, path: str, headers: Mapping[str, str]
    ) -> tuple[HTTPStatus, str] | None:
        """Returns the status and the reason with which a request is refused; None if it is allowed.

        Args:
            method: the method of the request.
            path: the path of the request.
            headers: the headers of the request, by their names in small letters.
        """
        address = self.address
        refused = None
        if method != "GET":
            refused = HTTPStatus.METHOD_NOT_ALLOWED, "its method is not GET"
        elif headers.get("host") != address.host:
            refused = HTTPStatus.MISDIRECTED_REQUEST, f"it is not for the host {address.host}"
        elif headers.get("origin", f"http://{address.host}") != f"http://{address.host}":
            refused = HTTPStatus.FORBIDDEN, "a page of another origin made it"
        elif not (headers.get("sec-fetch-site", "none") in _SAME_SITE or _is_link(path, headers)):
            refused = HTTPStatus.FORBIDDEN, "a page of another site made it"
        elif is_data(path) and not self._has_token(address, headers):
            refused = HTTPStatus.UNAUTHORIZED, "it has no token, or an old or wrong one"
        if refused is not None:
            self.note(f"refused a request: {refused[1]}")
        return refused

    def note(self, words: str) -> None:
        """Logs an event, unless an event with the same words was logged before.

        Args:
            words: what has happened. Every different text stays in memory, so there must be few.
        """
        if words not in self._noted:
            self._noted.add(words)
            self.log(f"{words}; the next times are not printed")

    @staticmethod
    def _has_token(address: Address, headers: Mapping[str, str]) -> bool:
        given = headers.get("authorization", "").encode(errors="replace")
        wanted = f"Bearer {address.token}".encode()
        return not address.is_old and hmac.compare_digest(given, wanted)

    def prove(self, challenge: str) -> str | None:
        """Returns the proof for a challenge; None if the challenge is not acceptable.

        Args:
            challenge: the challenge of a page, or of another command. Acceptable are at most
                `_LONGEST_CHALLENGE` ASCII letters and digits.
        """
        is_plain = len(challenge) <= _LONGEST_CHALLENGE and challenge.isalnum()
        return self.address.proof(challenge) if is_plain and challenge.isascii() else None


def is_data(path: str) -> bool:
    """Whether the answer to a request has data, so that the request needs the token.

    Args:
        path: the path of the request.
    """
    return path.startswith("/api/")


def _is_link(path: str, headers: Mapping[str, str]) -> bool:
    """Whether a request opens a page of the window in a browser, as a link to the page does."""
    mode, destination = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    is_page = path == "/" or path.startswith("/r/")
    return is_page and mode == "navigate" and destination == "document"
