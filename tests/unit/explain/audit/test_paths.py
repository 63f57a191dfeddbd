"""`audit` judges by a path's text alone whether it is outside, and whether it is a credential."""

from __future__ import annotations

from acp_proxy.explain.audit.paths import locate, looks_like_credentials, mentions
from tests.support.cases import each_case

POSIX = ["/proj/app", "/srv/lib"]
WINDOWS = ["C:\\work\\app"]


@each_case(
    ("path", "directories", "shown", "place"),
    [
        ("/proj/app/src/a.py", POSIX, "src/a.py", "inside"),
        ("/proj/app", POSIX, ".", "inside"),
        ("/proj/app/", POSIX, ".", "inside"),
        ("src/../a.py", POSIX, "a.py", "inside"),
        ("/proj/app/../app/a", POSIX, "a", "inside"),
        ("/proj/app/../application/a", POSIX, "/proj/application/a", "outside"),
        ("/proj/app2", POSIX, "/proj/app2", "outside"),
        ("../b", POSIX, "/proj/b", "outside"),
        ("/srv/lib/x", POSIX, "/srv/lib/x", "inside"),
        ("file:///proj/app/%61.py", POSIX, "a.py", "inside"),
        ("file://host/proj/app/a", POSIX, "file://host/proj/app/a", "outside"),
        ("file:///proj/app/x%20y#L10", POSIX, "x y", "inside"),
        ("file:///proj/app/%2e%2e/x", POSIX, "/proj/x", "outside"),
        ("file:///c%3A/Work/app/a.py", WINDOWS, "a.py", "inside"),
        ("main.py:12", POSIX, "main.py:12", "unknown"),
        ("/Proj/App/a", POSIX, "/Proj/App/a", "unknown"),
        ("/etc/passwd", ["."], "/etc/passwd", "unknown"),
        ("https://example.com/", POSIX, "https://example.com/", "outside"),
        ("~/x", POSIX, "~/x", "unknown"),
        ("/etc/passwd", [], "/etc/passwd", "unknown"),
        ("C:\\work\\app\\src\\a.py", WINDOWS, "src\\a.py", "inside"),
        ("c:/WORK/app/a.py", WINDOWS, "a.py", "inside"),
        ("C:\\work\\app\\..\\b", WINDOWS, "C:\\work\\b", "outside"),
        ("..\\b", WINDOWS, "C:\\work\\b", "outside"),
        ("/proj/app/\0", POSIX, "\0", "outside"),
        ("", POSIX, ".", "inside"),
    ],
)
def test_places(path: str, directories: list[str], shown: str, place: str) -> None:
    """`audit` finds whether a path is in the session's directory without looking at the disk."""
    located = locate(path, directories)
    if "\0" not in path:
        assert located.shown == shown
    assert located.place == place


@each_case(
    "path",
    [
        ".env", "/x/.env.local", "prod.env", "/home/me/.ssh/id_rsa", "~/.ssh/config", "server.pem",
        "C:\\Users\\me\\.AWS\\credentials", ".netrc", "/etc/shadow", "credentials.json",
        "secrets.yaml", "key.p12", ".npmrc", "/home/me/.codex/auth.json", "~/.config/gh/hosts.yml",
        ".kube/config", "service-account.json",
    ],
)  # fmt: skip
def test_names_of_credentials(path: str) -> None:
    """`audit` recognizes the names of credential files, such as `.env` and `.ssh/id_rsa`."""
    assert looks_like_credentials(path)


@each_case(
    "path",
    [
        "", "/", "a.py", "environment.py", ".envrc.md", ".env.example", "credentials.py",
        "secrets.py", "id_rsa.pub", "~/.ssh/known_hosts", "keyboard.py", "auth.json", "hosts.yml",
        "monkey", "src/key.ts", "token.py", "docs/secrets.md", "cacert.pem", "package.json",
    ],
)  # fmt: skip
def test_names_of_other_files(path: str) -> None:
    """`audit` does not mistake a source file for a credential file."""
    assert not looks_like_credentials(path)


def test_words_of_a_command() -> None:
    """`audit` finds the paths in a command, even in quotes."""
    command = "bash -c \"cat '/etc/passwd' >../out; X=~/y $HOME/z src/../a ./b .env https://x/y\""
    assert [path.path for path in mentions(command, POSIX)] == [
        "/etc/passwd", "../out", "~/y", "$HOME/z", ".env",
    ]  # fmt: skip


def test_a_long_command_is_read_quickly() -> None:
    """In a very long command, `audit` looks for at most twenty different paths."""
    assert len(mentions("/a " * 100_000, POSIX)) == 1
    assert len(mentions(" ".join(f"/{n}" for n in range(10_000)), POSIX)) == 20
