"""`diff` recognizes directories and numbers, however they are written."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.diff.diff_result import Counts
from tests.support.log_writer import request
from tests.support.scenario_runs import IN, OUT, Run, compare


def run(number: int, cwd: str, said: Any) -> Run:
    """Returns a run in a directory, with a call that mentions it."""
    made = Run(number)
    made.said[2] = (OUT, request(1, "session/new", cwd=cwd, mcpServers=[]))
    return made.tell("tool_call", toolCallId="c", rawInput=said).end()


SPELLED = {
    "as it is": ("/home/me/p", "/home/me/p/x", "/srv/code", "/srv/code/x"),
    "without its slash": ("/home/me/p", "home/me/p/x", "/srv/code", "srv/code/x"),
    "in a URI": ("/home/me/p", "file:///home/me/p/x", "/srv/code", "file:///srv/code/x"),
    "escaped": ("/home/me/prö", "file:///home/me/pr%C3%B6/x", "/srv/code", "file:///srv/code/x"),
    "in lower case": (
        "/home/me/prö",
        "file:///home/me/pr%c3%b6/x",
        "/srv/code",
        "file:///srv/code/x",
    ),
    "with a space": ("/home/me/a b", "file:///home/me/a%20b/x", "/srv/code", "file:///srv/code/x"),
    "with an at": ("/home/me/a@b", "file:///home/me/a@b/x", "/srv/code", "file:///srv/code/x"),
    "with %40": ("/home/me/a@b", "file:///home/me/a%40b/x", "/srv/code", "file:///srv/code/x"),
    "a link on macOS": ("/tmp/a/b", "/private/tmp/a/b/x", "/srv/code", "/srv/code/x"),
    "another on macOS": ("/var/a/b", "/private/var/a/b/x", "/srv/code", "/srv/code/x"),
    "Windows": (r"C:\Users\me", r"C:\Users\me\x", r"D:\code", r"D:\code\x"),
    "Windows with slashes": (r"C:\Users\me", "C:/Users/me/x", r"D:\code", "D:/code/x"),
    "Windows in a URI": (r"C:\Users\me", "file:///C:/Users/me/x", r"D:\code", "file:///D:/code/x"),
    "Windows, escaped": (
        r"C:\Users\me",
        "file:///C%3A/Users/me/x",
        r"D:\code",
        "file:///D%3A/code/x",
    ),
    "in lower case there": (
        r"C:\Users\me",
        "file:///C%3a/Users/me",
        r"D:\code",
        "file:///D%3a/code",
    ),
}


@pytest.mark.parametrize(("cwd", "spelled", "other", "there"), SPELLED.values(), ids=SPELLED)
@pytest.mark.parametrize("words", ["{}", "at {}", "'{}':"])
def test_a_directory_is_recognized(
    cwd: str, spelled: str, other: str, there: str, words: str
) -> None:
    """`diff` ignores a changed working directory in texts, but reports a changed path below it."""
    a = run(0, cwd, words.format(spelled))
    assert compare(a, run(1, other, words.format(there)))[0].is_equal
    result, (entry,) = compare(a, run(1, other, words.format(f"{there}/y")))
    assert result.counts == Counts(changed=1)
    assert "path:cwd" in entry.fields[0].a
    assert "path:cwd" in entry.fields[0].b


@pytest.mark.parametrize("words", ["{}", "cd {}", "{}/a"])
def test_a_short_directory_is_recognized(words: str) -> None:
    """`diff` ignores a changed working directory as short as `/app` in texts."""
    a, b = (run(n, cwd, words.format(cwd)) for n, cwd in enumerate(("/app", "/home/me/project")))
    assert compare(a, b)[0].is_equal
    assert compare(b, a)[0].is_equal


@pytest.mark.parametrize("cwd", ["p", "w/p", ".", "~/p"])
def test_a_relative_directory_is_told(cwd: str) -> None:
    """If a session's directory is absolute in A and relative in B, `diff` reports a difference."""
    a, b = (run(0, path, "").end() for path in ("/w/p", cwd))
    result, (entry,) = compare(a, b)
    assert result.counts == Counts(changed=1)
    assert (entry.fields[0].pointer, entry.fields[0].b) == ("/params/cwd", cwd)
    assert compare(b, run(1, cwd, "").end())[0].is_equal


def test_a_relative_directory_of_a_command_is_told() -> None:
    """If a command's directory is absolute in A and relative in B, `diff` reports a difference."""
    runs = [run(0, "/w/p", "") for _ in range(2)]
    for made, cwd in zip(runs, ("/w/p", "p"), strict=True):
        made.add(IN, request(9, "terminal/create", sessionId=made.session, command="x", cwd=cwd))
    result, (entry,) = compare(*runs)
    assert result.counts == Counts(changed=1)
    assert entry.fields[0].pointer == "/params/cwd"


@pytest.mark.parametrize(("a", "b"), [(1, 1.0), (0, -0.0), (100, 1e2), (0.5, 5e-1)])
def test_a_number_is_its_value(a: float, b: float) -> None:
    """`diff` finds the numbers 1 and 1.0 equal, except with `--exact`."""
    runs = [Run(0).tell("plan", n=n).end() for n in (a, b)]
    assert compare(*runs)[0].is_equal
    assert compare(*runs, exact=True)[0].is_equal == (str(a) == str(b))


@pytest.mark.parametrize(("a", "b"), [(1, True), (0, False), (1, "1"), (1, 1.5), (None, 0)])
def test_different_values_are_a_difference(a: Any, b: Any) -> None:
    """`diff` reports a difference between 1 and true, and between 1 and "1"."""
    runs = [Run(0).tell("plan", n=n).end() for n in (a, b)]
    assert compare(*runs)[0].counts == Counts(changed=1)


def test_small_numbers_are_no_processes() -> None:
    """`diff` does not mistake small numbers in texts for process ids."""
    said = [{"pid": n, "said": f"there are {n} files"} for n in (7, 8)]
    runs = [Run(n).tell("tool_call_update", rawOutput=said[n]).end() for n in (0, 1)]
    assert compare(*runs)[0].counts == Counts(changed=1)
