"""Tests whether a path is within directories, by its text alone."""

from __future__ import annotations

from acp_proxy.protocol.directories import is_within
from tests.support.cases import each_case


@each_case(
    ("path", "root"),
    [
        ("/w", "/w"),
        ("/w/", "/w"),
        ("/w/a", "/w/"),
        ("//w//a", "/w"),
        ("/w/./a/../b", "/w/."),
        ("/x/../w/a", "/w"),
        ("/../w/a", "/w"),
        ("/w/é", "/w"),
        ("/anything", "/"),
        ("file:///w/a%20b", "/w"),
        ("FILE:///w/a", "/w"),
        ("file://localhost/w/a", "/w"),
        ("C:\\w\\a", "C:\\w"),
        ("c:/W/a", "C:\\w"),
        ("file:///C:/w/a", "C:\\w"),
        ("\\\\host\\share\\a", "\\\\host\\share"),
        ("a", "."),
        ("src/a", "./src"),
    ],
)
def test_a_path_within(path: str, root: str) -> None:
    """To find if a path is in a directory, acp-proxy first resolves `..` and double slashes."""
    assert is_within(path, ["/elsewhere", root])


@each_case(
    ("path", "root"),
    [
        ("/", "/w"),
        ("/ww", "/w"),
        ("/W/a", "/w"),
        ("/w/..", "/w"),
        ("/w/.../a", "/w"),
        ("/w/../../../x", "/w"),
        ("/w/a/../../x", "/w"),
        ("w/a", "/w"),
        ("./a", "/w"),
        ("../w/a", "."),
        ("a/../..", "."),
        ("/a", "."),
        ("~/a", "/w"),
        ("/w/a\0", "/w"),
        ("/w\\a", "/w"),
        ("/w/..\\..\\a", "/w"),
        ("/w/ab\\..\\..\\..\\a", "/w"),
        ("file:///w/%2e%2e/a", "/w"),
        ("file:///w/a%00", "/w"),
        ("file:///w/../etc/a%00/../../w/a", "/w"),
        ("file:///w/a?b/../../../etc", "/w"),
        ("file:///w/a#b/../../../etc", "/w"),
        ("file://host/w/a", "/w"),
        ("file:w/a", "/w"),
        ("https://host/w/a", "/w"),
        ("https:/w/a", "/w"),
        ("file://[/w", "/w"),
        ("C:\\w\\..\\a", "C:\\w"),
        ("D:\\w\\a", "C:\\w"),
        ("C:w\\a", "C:\\w"),
        ("C:\\w\\.. \\a", "C:\\w"),
        ("\\\\?\\C:\\w\\..\\a", "C:\\w"),
        ("\\\\host\\other\\a", "\\\\host\\share"),
        ("/w/a", "C:\\w"),
        ("", "/w"),
        ("/w", ""),
        (7, "/w"),
        (None, "/w"),
        (["/w/a"], "/w"),
    ],
)
def test_a_path_outside(path: object, root: str) -> None:
    """For acp-proxy, a path such as `/ww` or `/w/../x` is not in the directory `/w`."""
    assert not is_within(path, [root])


def test_without_directories_no_path_is_within() -> None:
    """If no directories are given, acp-proxy counts every path as outside of them."""
    assert not is_within("/", [])
