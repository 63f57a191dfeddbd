# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""Tests how `verify` uses the live ids of its agent and the live directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.verify_playbook import verify

if TYPE_CHECKING:
    from tests.support.playbook import Record


def test_a_session_has_its_live_name(record: Record) -> None:
    """`verify` writes the live id of a session into every message."""
    recorded = record("""
        1-4 session
        5 -> {"jsonrpc":"2.0","method":"session/prompt","id":2,"params":{ "sessionId":"s", "x":[1e3,"s"]}}
        6 <- #2 result {}
    """)
    live = verify(recorded).check("""
        1-3
        <- #1 result {"sessionId": "new \\u00e9"}
        -> {"jsonrpc":"2.0","method":"session/prompt","id":2,"params":{ "sessionId":"new é", "x":[1e3,"s"]}}
        <- 6
        -> end
    """)
    assert live.report.bindings == {"s": "new é"}
    assert live.mismatches == []


def test_sessions_are_named_by_their_requests(record: Record) -> None:
    """`verify` finds the live id of a session by the request that created it."""
    recorded = record("""
        1-2 handshake
        3 -> #1 session/new {"cwd": "/"}
        4 -> #2 session/new {"cwd": "/"}
        5 <- #1 result {"sessionId": "a"}
        6 <- #2 result {"sessionId": "b"}
        7 -> #3 session/prompt {"sessionId": "b"}
        8 <- #3 result {}
    """)
    verify(recorded).check("""
        1-4
        <- #2 result {"sessionId": "x"}
        <- #1 result {"sessionId": "y"}
        -> #3 session/prompt {"sessionId": "x"}
        <- 8
        -> end
    """)


ASKS = """
    1-2 handshake
    3 -> #1 session/new {"cwd": "/"}
    4 <- #0 _x/y {"sessionId": "a"}
    5 -> #0 result 7
    6 <- #1 result {"sessionId": "a"}
"""


def test_a_session_may_make_requests_before_it_is_named(record: Record) -> None:
    """If a session is being created, `verify` treats an unknown session id as that session's id."""
    live = verify(record(ASKS)).check("""
        1-3
        <- #0 _x/y {"sessionId": "x"}
        -> 5
        <- #1 result {"sessionId": "x"}
        -> end
    """)
    assert live.mismatches == []


def test_a_request_of_an_unknown_session_is_held_back(record: Record) -> None:
    """If two sessions are being created, `verify` delays a request with an unknown session id."""
    recorded = record("""
        1-2 handshake
        3 -> #1 session/new {"cwd": "/"}
        4 -> #2 session/new {"cwd": "/"}
        5 <- #0 _x/y {"sessionId": "b"}
        6 -> #0 result 7
        7 <- #1 result {"sessionId": "a"}
        8 <- #2 result {"sessionId": "b"}
    """)
    live = verify(recorded).check("""
        1-4
        <- #0 _x/y {"sessionId": "x"}
        <- #2 result {"sessionId": "x"}
        -> 6
        <- #1 result {"sessionId": "y"}
        -> end
    """)
    assert live.mismatches == []


def test_state_updates_before_a_session_is_named_count(record: Record) -> None:
    """`verify` does not wait again for a state update that came before its session's id."""
    state = '{"sessionId": "%s", "update": {"sessionUpdate": "usage_update"}}'
    recorded = record(f"""
        1-2 handshake
        3 -> #1 session/new {{"cwd": "/"}}
        4 -> #2 session/new {{"cwd": "/"}}
        5 <- #1 result {{"sessionId": "a"}}
        6 <- #2 result {{"sessionId": "b"}}
        7 <- session/update {state % "b"}
    """)
    live = verify(recorded).check(f"""
        1-4
        <- session/update {state % "x"}
        <- #1 result {{"sessionId": "y"}}
        <- #2 result {{"sessionId": "x"}}
        -> end
    """)
    assert (live.mismatches, live.informed) == ([], [])


def test_updates_are_counted_from_the_answer_that_names_the_session(record: Record) -> None:
    """Before a prompt, `verify` counts only updates after the answer that creates the session."""
    update = 'session/update {"sessionId": "%s", "update": {"n": %d}}'
    recorded = record(f"""
        1-2 handshake
        3 -> #1 session/new {{"cwd": "/"}}
        4 -> #2 session/new {{"cwd": "/"}}
        5 <- {update % ("a", 1)}
        6 <- #1 result {{"sessionId": "a"}}
        7 <- #2 result {{"sessionId": "b"}}
        8 <- {update % ("a", 2)}
        9 -> #3 session/prompt {{"sessionId": "a"}}
        10 <- #3 result {{"stopReason": "end_turn"}}
    """)
    live = verify(recorded).check(f"""
        1-4
        <- {update % ("a", 1)}
        <- 6
        <- 7
        <- {update % ("a", 2)}
        -> 9
        <- 10
        -> end
    """)
    assert (live.mismatches, live.informed) == ([], [])


def test_a_session_of_an_earlier_process_keeps_its_name(record: Record) -> None:
    """In `verify`, a session that an earlier process created keeps its id when it is loaded."""
    recorded = record("""
        1-2 handshake
        3 -> #1 session/load {"sessionId": "old", "cwd": "/p"}
        4 <- session/update {"sessionId": "old"}
        5 <- #1 result {}
        6 -> #2 session/prompt {"sessionId": "old"}
        7 <- #2 result {}
    """)
    live = verify(recorded).check("""
        1-7
        -> end
    """)
    assert live.mismatches == []


def test_a_session_of_this_run_is_loaded_by_its_live_name(record: Record) -> None:
    """If `verify` loads a session that its own run created, it sends the live id."""
    recorded = record("""
        1-4 session
        5 -> #2 session/load {"sessionId": "s", "cwd": "/p"}
        6 <- #2 result {}
        7 -> #3 session/fork {"sessionId": "s", "cwd": "/p"}
        8 <- #3 result {"sessionId": "t"}
        9 -> #4 session/prompt {"sessionId": "t"}
        10 <- #4 result {}
    """)
    verify(recorded).check("""
        1-3
        <- #1 result {"sessionId": "S"}
        -> #2 session/load {"sessionId": "S", "cwd": "/p"}
        <- 6
        -> #3 session/fork {"sessionId": "S", "cwd": "/p"}
        <- #3 result {"sessionId": "T"}
        -> #4 session/prompt {"sessionId": "T"}
        <- 10
        -> end
    """)


MOVED = """
    1-2 handshake
    3 -> #1 session/new {"cwd": "/p", "additionalDirectories": ["/q"]}
    4 <- #1 result {"sessionId": "s"}
    5 -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "see /p/f"}, {"type": "resource_link", "uri": "file:///p/f"}]}
    6 <- #0 fs/read_text_file {"sessionId": "s", "path": "/p/f"}
    7 -> #0 result {"content": "/p/f"}
    8 <- #2 result {}
"""
ROOTS = {"/p": "/tmp/new", "/q": "/tmp/q"}


def test_directories_are_replaced_where_the_protocol_has_them(record: Record) -> None:
    """`verify` replaces directories in all JSON members that contain paths."""
    live = verify(record(MOVED), roots=ROOTS).check("""
        -> 1
        <- 2
        -> #1 session/new {"cwd": "/tmp/new", "additionalDirectories": ["/tmp/q"]}
        <- 4
        -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "see /p/f"}, {"type": "resource_link", "uri": "file:///tmp/new/f"}]}
        <- #0 fs/read_text_file {"sessionId": "s", "path": "/tmp/new/f"}
        -> 7
        <- 8
        -> end
    """)
    assert live.mismatches == []
    assert live.engine.state.recording.roots == ["/p", "/q"]


def test_directories_are_replaced_in_texts_on_request(record: Record) -> None:
    """`verify` replaces directories in texts only with the option `--rewrite-text`."""
    verify(record(MOVED), roots=ROOTS, rewrite_text=True).check("""
        -> 1
        <- 2
        -> #1 session/new {"cwd": "/tmp/new", "additionalDirectories": ["/tmp/q"]}
        <- 4
        -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "see /tmp/new/f"}, {"type": "resource_link", "uri": "file:///tmp/new/f"}]}
        <- #0 fs/read_text_file {"sessionId": "s", "path": "/tmp/new/f"}
        -> #0 result {"content": "/tmp/new/f"}
        <- 8
        -> end
    """)


def test_the_recorded_path_is_another_path(record: Record) -> None:
    """If `verify` runs in a different directory, it refuses a request for the recorded path."""
    live = verify(record(MOVED), roots=ROOTS).check("""
        -> 1
        <- 2
        -> #1 session/new {"cwd": "/tmp/new", "additionalDirectories": ["/tmp/q"]}
        <- 4
        -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "see /p/f"}, {"type": "resource_link", "uri": "file:///tmp/new/f"}]}
        <- 6
        -> refusal #0
        <- 8
        -> end
    """)
    assert live.mismatches == ["unmatched primary in s 6"]


def test_a_relative_directory_is_replaced_where_the_protocol_has_it(record: Record) -> None:
    """`verify` replaces a relative working directory by the live directory."""
    recorded = record("""
        1-2 handshake
        3 -> #1 session/new {"cwd": ".", "additionalDirectories": ["../q"]}
        4 <- #1 result {"sessionId": "s"}
        5 -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "Look. See /p/f in ../q"}]}
        6 <- #0 fs/read_text_file {"sessionId": "s", "path": "./f"}
        7 -> #0 result {"content": "a . ./b"}
        8 <- #1 fs/read_text_file {"sessionId": "s", "path": "/p/g"}
        9 -> #1 result {"content": "g"}
        10 <- #2 result {}
    """)
    roots = {"/p": "/live", "/q": "/other", ".": "/live", "../q": "/other"}
    live = verify(recorded, roots=roots, rewrite_text=True).check("""
        -> 1
        <- 2
        -> #1 session/new {"cwd": "/live", "additionalDirectories": ["/other"]}
        <- 4
        -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "Look. See /live/f in ../q"}]}
        <- #0 fs/read_text_file {"sessionId": "s", "path": "/live/f"}
        -> 7
        <- #1 fs/read_text_file {"sessionId": "s", "path": "/live/g"}
        -> 9
        <- 10
        -> end
    """)
    assert live.mismatches == []
