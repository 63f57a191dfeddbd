# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""A replay uses the client's live ids and directories; all other bytes are as recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.playbook import Live, Record

STRANGE = r"""
    1 -> #0 initialize {"protocolVersion": 1}
    2 <- | { "result" : {"protocolVersion":1e0,"a":1,"a":2,"x":"\\u0041\\/"},\t"id" : 0 , "jsonrpc":"2.0"}
    3 -> #1 session/new {"cwd": "/p", "mcpServers": []}
    4 <- | {"jsonrpc":"2.0","result":{"sessionId":"s"},"id":1}
    5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
    6 <- | Warning: this is no JSON \x1b[31m
    7 <- | \x20
    8 <- | {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","n":-0.0,"big":1E400}}\r
    9 <- | {"id":2,"result":{"stopReason":"end_turn"}}
    10 <- | {"unfinished":\c
"""


@pytest.mark.parametrize("token", ['"text"', "1.0", "-7", '"0b7c6c1e-18e0-4b8f-9d6e-7d8f7a3f6f51"', '"\\u00e9\\n"', "123456789012345678901234567890"])  # fmt: skip
def test_a_reply_repeats_the_live_id_and_nothing_else_changes(record: Record, token: str) -> None:
    """In an answer of a replay, only the id differs from the recorded answer."""
    live = record(STRANGE).replay()
    written = token.replace("\\", "\\\\")
    live.check(f"""
        -> | {{"jsonrpc":"2.0","id":{written},"method":"initialize","params":{{"protocolVersion":1}}}}
        <- | {{ "result" : {{"protocolVersion":1e0,"a":1,"a":2,"x":"\\\\u0041\\\\/"}},\\t"id" : {written} , "jsonrpc":"2.0"}}
    """)
    assert live.divergences == []


def test_every_kind_of_line_is_replayed(record: Record) -> None:
    """A replay sends invalid and blank lines byte for byte."""
    recorded = record(STRANGE)
    live = recorded.replay(1, 3)
    assert live.send(5) == ["<- 6", "<- 7", "<- 8", "<- 9", "<- 10"]
    written = b"".join(recorded.raw[n] for n in (2, 4, 6, 7, 8, 9, 10))
    assert live.bytes == written
    assert live.bytes.endswith(b'\r\n{"id":2,"result":{"stopReason":"end_turn"}}\n{"unfinished":')


def test_bytes_that_are_not_utf_8_are_replayed(record: Record) -> None:
    """A replay sends bytes that are not UTF-8 unchanged."""
    live = record(r"""
        1-4 session
        5 <- | caf\xe9 in /p
    """).replay(1)
    live.check("""
        -> #"x" session/new {"cwd": "/q"}
        <- #"x" result {"sessionId": "s"}
        <- 5
    """)


def test_the_agents_request_ids_stay_as_recorded(record: Record) -> None:
    """A replay sends the agent's requests with the recorded ids."""
    live = record("""
        1-2 handshake
        3 -> #1 session/new {"cwd": "/p"}
        4 <- #"1" fs/read_text_file {"sessionId": "s", "path": "/p/a"}
        5 -> #"1" result {"content": ""}
        6 <- #1 result {"sessionId": "s"}
    """).replay(1)
    live.check("""
        -> #"1" session/new {"cwd": "/p"}
        <- 4
        -> #1 result {"content": ""}
    """)
    assert live.mismatches == ["unknown-reply-id primary in connection"]
    live.check("""
        -> #"1" result {"content": ""}
        <- #"1" result {"sessionId": "s"}
    """)


BOUND = """
    1-2 handshake
    3 -> #1 session/new {"cwd": "/srv/app", "additionalDirectories": ["/srv/lib"], "mcpServers": []}
    4 <- #1 result {"sessionId": "s"}
    5 -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "resource_link", "uri": "file:///srv/app/a%20b.py", "name": "a"}]}
    6 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call", "title": "Read /srv/app/x, see\\n/srv/app", "locations": [{"path": "/srv/app/x"}, {"path": "/srv/application"}], "content": [{"type": "diff", "path": "/srv/lib/y"}], "rawInput": {"path": "/srv/app/x"}}}
    7 <- #0 fs/read_text_file {"sessionId": "s", "path": "/srv/app"}
    8 -> #0 result {"content": "x"}
    9 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "resource_link", "uri": "file:///srv/app/sub/z"}}}
    10 <- #2 result {"stopReason": "end_turn"}
"""
ELSEWHERE = """
    -> #1 session/new {"cwd": "/home/me/my app", "additionalDirectories": ["/opt/lib/"], "mcpServers": [{"name": "own"}]}
    <- 4
    -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "resource_link", "uri": "file:///home/me/my%20app/a%20b.py", "name": "a"}]}
"""


def begun(record: Record, text: str, **options: object) -> Live:
    """Returns a replay after the handshake."""
    return record(text).replay(1, **options)


def test_directories_are_replaced(record: Record) -> None:
    """A replay replaces recorded directories in paths by the client's, but not in free text."""
    live = begun(record, BOUND)
    live.check(
        ELSEWHERE
        + """
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call", "title": "Read /srv/app/x, see\\n/srv/app", "locations": [{"path": "/home/me/my app/x"}, {"path": "/srv/application"}], "content": [{"type": "diff", "path": "/opt/lib/y"}], "rawInput": {"path": "/srv/app/x"}}}
        <- #0 fs/read_text_file {"sessionId": "s", "path": "/home/me/my app"}
        -> 8
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "resource_link", "uri": "file:///home/me/my%20app/sub/z"}}}
        <- 10
    """
    )
    assert live.divergences == []
    assert live.report.bindings == {"/srv/app": "/home/me/my app", "/srv/lib": "/opt/lib/"}


def test_texts_are_rewritten_on_request(record: Record) -> None:
    """With `--rewrite-text`, a replay replaces directories in free text."""
    live = begun(record, BOUND, rewrite_text=True)
    live.send('#1 session/new {"cwd": "/srv/app/deep", "additionalDirectories": ["/l"]}')
    live.check("""
        -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "resource_link", "uri": "file:///srv/app/deep/a%20b.py", "name": "a"}]}
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call", "title": "Read /srv/app/deep/x, see\\n/srv/app/deep", "locations": [{"path": "/srv/app/deep/x"}, {"path": "/srv/application"}], "content": [{"type": "diff", "path": "/l/y"}], "rawInput": {"path": "/srv/app/deep/x"}}}
        <- #0 fs/read_text_file {"sessionId": "s", "path": "/srv/app/deep"}
    """)


def test_a_rewritten_text_is_valid_json(record: Record) -> None:
    """If a directory contains a quote, a text that a replay rewrites is valid JSON."""
    live = begun(record, BOUND, rewrite_text=True)
    live.send(r'#1 session/new {"cwd": "/a\"b\\c", "additionalDirectories": ["/l"]}')
    live.send('#2 session/prompt {"sessionId": "s", "prompt": [{"type": "resource_link",'
             ' "uri": "file:///a%22b\\\\c/a%20b.py", "name": "a"}]}')  # fmt: skip
    assert live.mismatches == []
    assert rb'"title": "Read /a\"b\\c/x, see\n/a\"b\\c", "locations": [{"path": "/a\"b\\c/x"}' in (
        live.bytes
    )


def test_a_lone_surrogate_in_a_directory_is_escaped(record: Record) -> None:
    """If a directory contains half a surrogate pair, a replay writes the half as an escape."""
    live = begun(record, TERMINALS)
    live.send(r'#1 session/new {"cwd": "/\ud800"}')
    live.check(r"""
        -> 5
        <- #0 terminal/create {"sessionId": "s", "command": "ls", "cwd": "/\ud800"}
    """)


def test_another_path_below_the_directory_differs(record: Record) -> None:
    """If a path differs below the client's directory, a replay reports a divergence."""
    live = begun(record, BOUND)
    live.send('#1 session/new {"cwd": "/q", "additionalDirectories": ["/l"]}')
    live.check("""
        -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "resource_link", "uri": "file:///srv/app/a%20b.py", "name": "a"}]}
        <- refusal #2
    """)
    assert live.mismatches == ["params-differ primary in s 5"]


def test_a_second_value_for_a_directory_is_a_conflict(record: Record) -> None:
    """If a client uses two directories in place of a recorded one, a replay diverges."""
    live = begun(record, """
        1-4 session
        5 -> #2 session/new {"cwd": "/p", "mcpServers": []}
        6 <- #2 result {"sessionId": "t"}
    """)  # fmt: skip
    live.check("""
        -> #1 session/new {"cwd": "/x"}
        <- 4
        -> #2 session/new {"cwd": "/y", "mcpServers": []}
        <- refusal #2
    """)
    assert live.mismatches == ["binding-conflict primary in t 5"]
    (difference,) = live.divergences[0].differences
    assert (difference.pointer, difference.live) == ("/params/cwd", '"/y"')


def test_two_values_for_a_directory_in_one_message_are_a_conflict(record: Record) -> None:
    """If one message has two directories in place of a recorded one, a replay diverges."""
    live = begun(record, """
        1-2 handshake
        3 -> #1 session/new {"cwd": "/p", "additionalDirectories": ["/p"]}
        4 <- #1 result {"sessionId": "s"}
    """)  # fmt: skip
    live.send('#1 session/new {"cwd": "/x", "additionalDirectories": ["/y"]}')
    assert live.mismatches == ["binding-conflict primary in s 3"]
    (divergence,) = live.divergences
    assert divergence.summary.endswith(": the client chose another value before")
    assert divergence.near_misses == ()


def test_an_equal_directory_wins_over_one_to_be_bound(record: Record) -> None:
    """If a request matches two recorded ones, a replay chooses the one with an equal directory."""
    live = begun(record, """
        1-4 session
        5 -> #2 session/new {"cwd": "/q"}
        6 <- #2 result {"sessionId": "t"}
    """)  # fmt: skip
    live.check("""
        -> 5
        <- 6
        -> 3
        <- 4
    """)
    assert live.report.bindings == {}


def test_a_client_may_load_a_session_by_another_name(record: Record) -> None:
    """If a client loads a session by a different id, a replay uses that id."""
    live = begun(record, """
        1-2 handshake
        3 -> #1 session/load {"sessionId": "old", "cwd": "/p", "mcpServers": []}
        4 <- session/update {"sessionId": "old", "update": {}}
        5 <- #1 result {}
        6 -> #2 session/prompt {"sessionId": "old", "prompt": []}
        7 <- session/update {"sessionId": "old", "update": {"x": 1}}
        8 <- #2 result {"stopReason": "end_turn"}
    """)  # fmt: skip
    live.check("""
        -> #1 session/load {"sessionId": "mine", "cwd": "/p", "mcpServers": []}
        <- session/update {"sessionId": "mine", "update": {}}
        <- 5
        -> #2 session/prompt {"sessionId": "mine", "prompt": []}
        <- session/update {"sessionId": "mine", "update": {"x": 1}}
        <- 8
        -> end
        <- end
    """)
    assert live.divergences == []


TERMINALS = """
    1-4 session
    5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
    6 <- #0 terminal/create {"sessionId": "s", "command": "ls", "cwd": "/p"}
    7 -> #0 result {"terminalId": "term-1"}
    8 <- session/update {"sessionId": "s", "update": {"content": [{"type": "terminal", "terminalId": "term-1"}]}}
    9 <- #1 terminal/wait_for_exit {"sessionId": "s", "terminalId": "term-1"}
    10 -> #1 result {"exitCode": 0}
    11 <- #2 terminal/release {"sessionId": "s", "terminalId": "term-1"}
    12 -> #2 result {}
    13 <- #3 terminal/create {"sessionId": "s", "command": "id"}
    14 -> #3 result {"terminalId": "term-1"}
    15 <- #4 terminal/kill {"sessionId": "s", "terminalId": "term-1"}
    16 -> #4 result {}
    17 <- #2 result {"stopReason": "end_turn"}
"""


def test_terminals_are_replaced(record: Record) -> None:
    """A replay uses the id that the client has given to a terminal."""
    live = begun(record, TERMINALS)
    live.send(3)
    live.check("""
        -> 5
        <- 6
        -> #0 result {"terminalId": "A"}
        <- session/update {"sessionId": "s", "update": {"content": [{"type": "terminal", "terminalId": "A"}]}}
        <- #1 terminal/wait_for_exit {"sessionId": "s", "terminalId": "A"}
        -> 10
        <- #2 terminal/release {"sessionId": "s", "terminalId": "A"}
        -> 12
        <- 13
        -> #3 result {"terminalId": "B"}
        <- #4 terminal/kill {"sessionId": "s", "terminalId": "B"}
        -> 16
        <- 17
    """)
    assert live.divergences == []


def test_a_second_value_for_an_open_terminal_is_a_conflict(record: Record) -> None:
    """If a client gives a second id to an open terminal, a replay reports a divergence."""
    live = begun(record, """
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 <- #0 terminal/create {"sessionId": "s", "command": "ls"}
        7 -> #0 result {"terminalId": "t"}
        8 <- #1 terminal/create {"sessionId": "s", "command": "ls"}
        9 -> #1 result {"terminalId": "t"}
        10 <- #2 result {"stopReason": "end_turn"}
    """)  # fmt: skip
    live.send(3, 5, '#0 result {"terminalId": "A"}')
    live.check("""
        -> #1 result {"terminalId": "B"}
        <- refusal #2
    """)
    assert live.mismatches == ["binding-conflict primary in s 9"]


BATCHES = """
    1-4 session
    5 -> [{"jsonrpc":"2.0","id":5,"method":"_x/a","params":{"sessionId":"s"}},{"jsonrpc":"2.0","id":6,"method":"_x/b","params":{"sessionId":"s"}}]
    6 <- [{"id":6,"result":{}},{"id":5,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/p/f"}} , {"id":5,"result":1e3}]
    7 -> [{"jsonrpc":"2.0","id":5,"result":{"content":""}}]
    8 <- session/update {"sessionId": "s", "update": {}}
"""


def test_an_answer_in_a_batch_has_the_id_of_the_live_request(record: Record) -> None:
    """In a JSON-RPC batch that a replay sends, each answer has the id of its live request."""
    live = begun(record, BATCHES)
    live.check("""
        -> #1 session/new {"cwd": "/q"}
        <- 4
        -> #"a" _x/a {"sessionId": "s"}
        -> [{"jsonrpc":"2.0","id":"b","method":"_x/b","params":{"sessionId":"s"}}]
        <- [{"id":"b","result":{}},{"id":5,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/q/f"}} , {"id":"a","result":1e3}]
        -> 7
        <- 8
    """)
    assert live.divergences == []


def test_a_recorded_batch_replays_against_itself(record: Record) -> None:
    """A replay answers a JSON-RPC batch as it was answered in the recording."""
    live = begun(record, BATCHES)
    live.check("""
        3-8
        -> end
        <- end
    """)
    assert live.divergences == []


def test_a_member_of_a_batch_diverges_alone(record: Record) -> None:
    """If one message of a JSON-RPC batch diverges, a replay reports only this message."""
    live = begun(record, BATCHES)
    live.send(3)
    live.check("""
        -> [{"jsonrpc":"2.0","id":5,"method":"_x/a","params":{"sessionId":"s"}},{"jsonrpc":"2.0","id":6,"method":"_x/b","params":{"sessionId":"s","n":1}}]
        <- refusal #6
        <- refusal #5
    """)
    assert live.mismatches == ["params-differ primary in s 5"]


def test_a_deeply_nested_message_does_not_stop_a_replay(record: Record) -> None:
    """If a message of the client is nested too deeply, a replay refuses it and goes on."""
    live = begun(record, BOUND)
    deep = '{"a":' * 700 + "1" + "}" * 700
    live.send(3)
    news = live.send(f'#2 session/prompt {{"sessionId": "s", "prompt": {deep}}}')
    assert news == ["<- refusal #2"]
    assert live.mismatches == ["params-differ primary in s 5"]
