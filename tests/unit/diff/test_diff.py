"""`diff` calls two runs of one scenario equal, and reports all other changes."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from acp_proxy.diff.diff_result import Change, Counts, Expect, Field
from acp_proxy.diff.learned_rules import Learned
from acp_proxy.recording.filters import parse
from tests.support.log_writer import notification, request, result, text
from tests.support.scenario_runs import IN, OUT, UUIDS, Run, compare, rules


def told(run: Run) -> Run:
    """Adds a scenario with every kind of value that differs between any two runs."""
    path = f"{run.cwd}/src/main.py"
    number = 4000 + run.number
    return (
        run.tell("session_info_update", updatedAt=f"2026-01-0{run.number + 1}T00:00:00Z")
        .words(f"Looking at {path}", " and more", messageId=f"msg_{run.number}00000")
        .tell(
            "tool_call",
            toolCallId=run.call("one"),
            title=f"Read {path}",
            kind="read",
            locations=[{"path": path}],
            rawInput={"turn_id": f"turn-{run.number}", "started_at_ms": 17 + run.number},
        )
        .tell(
            "tool_call_update",
            toolCallId=run.call("one"),
            status="completed",
            rawOutput={"pid": number, "duration": {"nanos": number}},
            content=[{"type": "content", "content": text(f"PID {number}: done in {run.cwd}")}],
        )
        .add(
            IN,
            request(
                UUIDS[run.number],
                "session/request_permission",
                sessionId=run.session,
                toolCall={"toolCallId": run.call("one")},
                options=[{"optionId": "allow", "name": "Allow", "kind": "allow_once"}],
            ),
        )
        .add(OUT, result(UUIDS[run.number], outcome={"outcome": "selected", "optionId": "allow"}))
        .words(f"see {run.call('one')} in session {run.session}")
        .tell("session_info_update", updatedAt="2026-02-03T00:00:00Z")
        .end()
        .add(IN, notification("x/branch", sessionId=run.session, _meta={"at": UUIDS[run.number]}))
    )


def test_ids_times_and_directories_of_two_runs_may_differ() -> None:
    """`diff` ignores changed ids, times and directories."""
    result, entries = compare(told(Run(0)), told(Run(1)))
    assert (result.counts, entries) == (Counts(), [])
    assert result.aliases["path:cwd"] == ("/home/a/project", "/home/bx/project")
    assert result.aliases["session:1"] == (Run(0).session, Run(1).session)


def test_a_value_may_be_named_before_it_is_introduced() -> None:
    """`diff` ignores a changed tool call id, even in texts that come before the call starts."""

    def run(number: int) -> Run:
        made = Run(number)
        call = made.call("one")
        made.words(f"{call} is next").tell("plan", entries=[])
        update = {"toolCallId": call, "rawInput": {"about": f"{call} in it"}}
        made.tell("tool_call", title=f"run {call}", content=[{"ref": call}], **update)
        return made.end()

    assert compare(run(0), run(1))[0].is_equal


def test_a_directory_may_lack_its_slash() -> None:
    """`diff` ignores a changed working directory in a path that lacks the first slash."""
    a, b = (Run(number).tell("plan", at=f"{Run(number).cwd[1:]}/notes.txt") for number in (0, 1))
    assert compare(a.end(), b.end())[0].is_equal
    a, b = (Run(number).tell("plan", at="/mnt/home/a/project/x") for number in (0, 1))
    assert compare(a.end(), b.end())[0].is_equal  # not even a part of it


def test_a_title_is_cut_somewhere() -> None:
    """`diff` equates a title that is cut off, even in a directory's name, to the whole title."""

    def run(number: int, title: str) -> Run:
        return Run(number).tell("session_info_update", title=title).end()

    whole = run(0, f"Read {Run(0).cwd}/notes.txt, and")
    assert compare(whole, run(1, f"Read {Run(1).cwd}/not"))[0].is_equal
    assert compare(whole, run(1, f"Read {Run(1).cwd[:9]}…"))[0].is_equal
    assert not compare(whole, run(1, f"Write {Run(1).cwd}/notes.txt"))[0].is_equal
    assert not compare(run(0, "Read this"), run(1, "Read that"))[0].is_equal


def test_an_agent_may_write_spaces() -> None:
    """`diff` joins the chunks of a text even if the agent's JSON contains spaces."""

    def spaced(run: Run) -> Run:
        run.said[5:] = [(stream, json.dumps(message)) for stream, message in run.said[5:]]
        return run

    a, b = Run(0).words("one", "two").end(), spaced(Run(1).words("onet", "w", "o").end())
    assert compare(a, b)[0].is_equal


def test_the_same_id_of_two_kinds_is_two_values() -> None:
    """If a tool call and a terminal have the same id, `diff` treats the id as two values."""

    def run(number: int, call: str, terminal: str) -> Run:
        made = Run(number).tell("tool_call", toolCallId=call, title="x")
        made.tell("tool_call_update", toolCallId=call, terminalId=terminal)
        made.add(IN, request(9, "terminal/output", sessionId=made.session, terminalId=terminal))
        return made.end()

    assert compare(run(0, "1", "1"), run(1, "1", "2"))[0].is_equal


def test_a_call_may_be_named_as_a_uuid_first() -> None:
    """If a tool call's id is a UUID in only one run, `diff` still pairs the calls."""

    def run(number: int, call: str) -> Run:
        made = Run(number).tell("tool_call", rawInput={"about": call}, toolCallId=call, title="x")
        return made.tell("tool_call_update", toolCallId=call, status="completed").end()

    assert compare(run(0, "call_12345678"), run(1, UUIDS[1]))[0].is_equal


def test_the_handshake_has_values_too() -> None:
    """`diff` ignores generated ids in the handshake, but reports changed capabilities."""

    def run(number: int, **capabilities: object) -> Run:
        made = Run(number).end()
        made.said[1] = (
            IN,
            result(0, agentInfo={"id": UUIDS[number]}, agentCapabilities=capabilities),
        )
        return made

    assert compare(run(0), run(1))[0].is_equal
    assert compare(run(0, pid=1), run(1, pid=2))[0].is_equal
    assert compare(run(0, a=1), run(1, a=2))[0].counts == Counts(handshake=1)
    deep: dict[str, object] = {}
    for _ in range(900):
        deep = {"d": deep}
    assert compare(run(0, a=deep), run(1, a={"e": deep}))[0].counts.handshake


def test_a_repeated_update_is_counted_twice() -> None:
    """If an update is repeated in only one recording, `diff` reports the repetition."""

    def run(number: int, *names: str) -> Run:
        made = Run(number)
        for name in names:
            where = made.cwd if name == "cwd" else "elsewhere"
            made.tell("available_commands_update", availableCommands=[{"name": where}])
        return made.end()

    assert compare(run(0, "cwd", "cwd", "x"), run(1, "cwd", "x", "x"))[0].is_equal
    assert compare(run(0, "cwd", "x", "cwd"), run(1, "cwd", "x"))[0].counts == Counts(only_a=1)


def test_a_line_that_is_too_large_or_too_deep_is_compared_by_its_bytes() -> None:
    """If a line is larger than 5 MB or nested too deeply, `diff` compares it by its bytes."""

    def large(number: int, letter: str) -> Run:
        return Run(number).tell("plan", text=letter * (5 << 20)).end()

    assert compare(large(0, "a"), large(1, "b"))[0].counts == Counts(changed=1)
    deep = {"d": {"leaf": 1}}, {"d": {"leaf": 2}}
    a, b = (Run(0) for _ in deep)
    for run, leaf in zip((a, b), deep, strict=True):
        value: object = leaf
        for _ in range(450):
            value = [{"d": value}]
        run.tell("plan", x=value)
    assert compare(a.end(), b.end())[0].counts == Counts(changed=1)


@pytest.mark.parametrize("cwd", ["/app", "/workspace", "/root", "/tmp"])
def test_a_directory_at_the_root_is_recognized(cwd: str) -> None:
    """If `/app` is the working directory, `diff` ignores a change of this directory in texts."""

    def run(number: int, cwd: str) -> Run:
        made = Run(number)
        made.said[2] = (OUT, request(1, "session/new", cwd=cwd, mcpServers=[]))
        return made.tell("tool_call", toolCallId="c", title=f"Read {cwd}/x").end()

    assert compare(run(0, cwd), run(1, "/home/me/p"), same=(("/home/me/p", cwd),))[0].is_equal
    assert compare(run(0, cwd), run(1, "/home/me/p"))[0].is_equal == (cwd in ("/app", "/workspace"))


def test_values_in_the_output_of_commands_have_names() -> None:
    """`diff` ignores generated numbers in the output of commands, such as thread ids."""

    def run(number: int) -> Run:
        said = f"Chunk ID: a{number}6caf\nthread 'main' (1859{number}) panicked at src/x.rs:1"
        return Run(number).tell("tool_call_update", toolCallId="c", rawOutput=said).end()

    assert compare(run(0), run(1))[0].is_equal


def test_a_directory_below_a_known_one_gets_no_name() -> None:
    """If a command runs below the session's directory, `diff` reports a changed subdirectory."""

    def run(number: int, below: str) -> Run:
        made = Run(number)
        where = {"sessionId": made.session, "command": "rm", "cwd": f"{made.cwd}{below}"}
        return made.add(IN, request(9, "terminal/create", **where))

    assert compare(run(0, "/build"), run(1, "/build"))[0].is_equal
    _, (entry,) = compare(run(0, "/build"), run(1, "/src"))
    assert entry.fields == (Field("/params/cwd", "«path:cwd»/build", "«path:cwd»/src"),)


def test_a_directory_is_recognized_in_a_uri() -> None:
    """`diff` ignores a changed working directory within a URI."""

    def run(number: int, cwd: str) -> Run:
        made = Run(number)
        made.said[2] = (OUT, request(1, "session/new", cwd=cwd, mcpServers=[]))
        return made.tell("tool_call", toolCallId="c", rawInput=quote(f"file://{cwd}/x", ":/"))

    assert compare(run(0, "/home/me/my pröject"), run(1, "/srv/p"))[0].is_equal


def test_a_null_is_a_line() -> None:
    """`diff` compares a line with the JSON value null like any other line."""
    a, b = Run(0), Run(1).add(IN, "null")
    assert compare(a, b)[0].counts == Counts(only_b=1)


def test_a_text_that_looks_like_a_stable_name_stays_a_text() -> None:
    """`diff` does not confuse the recorded text `session:1` with its own name for a session."""
    a = Run(0).tell("plan", entries=[], of=Run(0).session)
    assert not compare(a, Run(1).tell("plan", entries=[], of="session:1"))[0].is_equal


def test_two_values_of_different_kinds_may_have_the_same_text() -> None:
    """If a tool call, a terminal and a text share a UUID, `diff` ignores a change of this UUID."""

    def run(number: int, text: str) -> Run:
        made = Run(number).tell("plan", entries=[{"content": text}])
        made.tell("tool_call", toolCallId=text, title="Run")
        return made.tell("tool_call_update", content=[{"type": "terminal", "terminalId": text}])

    assert compare(run(0, UUIDS[0]), run(1, UUIDS[1]))[0].is_equal


def test_sessions_are_paired_by_their_contents() -> None:
    """`diff` pairs sessions by their texts, not by the order of their creation."""

    def two(number: int, *words: str) -> Run:
        run = Run(number)
        del run.said[2:]
        for place, word in enumerate(words, 3):
            run.session = f"ses_{word}{number}99{number}"
            run.add(OUT, request(place, "session/new", cwd=run.cwd, mcpServers=[]))
            run.add(IN, result(place, sessionId=run.session)).words(word)
        return run

    assert compare(two(0, "cats", "dogs"), two(1, "dogs", "cats"))[0].is_equal
    outcome, (entry,) = compare(two(0, "cats", "dogs"), two(1, "dogs", "cows"))
    assert (entry.lane, entry.fields[0].b) == ("session:1", "cows")
    assert outcome.counts == Counts(changed=1)


def test_updates_of_a_state_may_come_at_any_time() -> None:
    """`diff` ignores when an update of a session's state, such as its commands, is sent."""
    commands = [{"name": "a", "description": "b"}]
    a = Run(0).tell("available_commands_update", availableCommands=commands).words("hi")
    b = Run(1).words("hi").tell("available_commands_update", availableCommands=commands)
    b.tell("usage_update", used=1, size=2).tell("usage_update", used=1, size=2)
    a.tell("usage_update", used=1, size=2)
    assert compare(a.end(), b.end())[0].is_equal
    b.tell("usage_update", used=3, size=2)
    assert compare(a, b)[0].counts == Counts(only_b=1)


def test_a_new_item_of_a_list_is_one_field() -> None:
    """If a list gets a new first item, `diff` reports the new item as the only difference."""
    commands = [{"name": name, "description": name} for name in "bcd"]
    a = Run(0).tell("available_commands_update", availableCommands=commands)
    new = {"name": "a", "description": "a"}
    b = Run(1).tell("available_commands_update", availableCommands=[new, *commands])
    _, (entry,) = compare(a.end(), b.end())
    assert entry.fields == (Field("/params/update/availableCommands/0", b=new, only="b"),)


def test_capabilities_come_first() -> None:
    """`diff` lists changed capabilities in its part about the handshake, not among the frames."""
    b = Run(1)
    b.said[1] = (IN, result(0, protocolVersion=1, agentCapabilities={"loadSession": False}))
    outcome, entries = compare(Run(0).end(), b.end())
    assert (outcome.counts, entries) == (Counts(handshake=1), [])
    assert outcome.handshake == (Field("/result/agentCapabilities/loadSession", a=True, only="a"),)


def test_a_line_that_is_not_json_is_compared_as_text() -> None:
    """`diff` compares a line that is not JSON as text, and ignores a changed directory in it."""
    a = Run(0).add(IN, "debug: started in /home/a/project").add(IN, [notification("x"), result(9)])
    b = Run(1).add(IN, "debug: started in /home/bx/project").add(IN, [notification("x"), result(8)])
    assert compare(a.end(), b.end())[0].is_equal
    b.add(IN, "debug: and more")
    _, (entry,) = compare(a, b)
    assert (entry.change, entry.title) == (Change.ONLY_B, "a line that is no message")


def test_short_ids_are_ordinary_words() -> None:
    """`diff` does not ignore short ids in texts, since they may be ordinary words."""

    def run(number: int, call: str) -> Run:
        made = Run(number).tell("tool_call", toolCallId=call, title="x")
        return made.words("edit it").end()

    assert compare(run(0, "edit"), run(1, "toolu_1"))[0].is_equal


def test_a_system_directory_is_not_recognized_inside_texts() -> None:
    """Even if only A runs in the directory `/tmp`, `diff` finds no change in a text with `/tmp`."""

    def run(number: int, cwd: str) -> Run:
        made = Run(number)
        made.said[2] = (OUT, request(1, "session/new", cwd=cwd, mcpServers=[]))
        return made.words("kept in /tmp/cache").end()

    assert compare(run(0, "/tmp"), run(1, "/app"))[0].is_equal


def test_the_structure_has_tool_calls_and_no_texts() -> None:
    """`diff --expect structure` ignores texts and the number of updates, but not tool calls."""

    def run(number: int, title: str, *more: str) -> Run:
        made = Run(number).words(*["word"] * (number + 1))
        for name in (title, *more):
            made.tell("tool_call", toolCallId=made.call(name), title=name, kind="read")
            for _ in range(number + 1):
                made.tell("tool_call_update", toolCallId=made.call(name), status="completed")
        return made.end()

    same = compare(run(0, "Read"), run(1, "Read"), expect=Expect.STRUCTURE)
    assert same[0].is_equal
    _, (entry,) = compare(run(0, "Read"), run(1, "Look"), expect=Expect.STRUCTURE)
    assert entry.fields == (Field("/params/update/title", "Read", "Look"),)
    result, _ = compare(run(0, "Read", "Write"), run(1, "Read"), expect=Expect.STRUCTURE)
    assert result.counts == Counts(only_a=2)


def test_options_ignore_and_name() -> None:
    """`diff` accepts any change at `ignore` pointers, and consistent ones at `alias` pointers."""
    a = Run(0).tell("plan", x="same-1234", y="one", z="same-1234")
    b = Run(1).tell("plan", x="other-5678", y="two", z="other-5678")
    ignored = ("/params/update/y",)
    assert compare(a, b, ignored=("/params/update",))[0].is_equal
    assert compare(a, b, ignored=ignored, aliases=("/params/update/*",))[0].is_equal
    _, (entry,) = compare(a, b, ignored=ignored)
    assert [field.pointer[-1] for field in entry.fields] == ["x", "z"]
    assert compare(a, b, chosen=parse("not method:session/update"))[0].is_equal


def test_an_aliased_value_must_be_the_same_in_all_places() -> None:
    """If B has two values in place of one aliased value of A, `diff` reports the second value."""
    a = Run(0).tell("plan", x="one-12345", y="one-12345")
    b = Run(1).tell("plan", x="other-678", y="third-999")
    _, (entry,) = compare(a, b, aliases=("/params/update/x", "/params/update/y"))
    assert [(field.pointer, field.a) for field in entry.fields] == [("/params/update/y", "value:1")]


def test_two_directories_can_be_one() -> None:
    """If `DiffOptions.same` pairs A's directory with B's, `diff` accepts A's in a text of B."""
    a = Run(0).words("wrote /home/a/project/x").end()
    b = Run(1).words("wrote /home/a/project/x").end()
    assert not compare(a, b)[0].is_equal
    assert compare(a, b, same=((Run(1).cwd, Run(0).cwd),))[0].is_equal


def test_rules_are_learned_names_first() -> None:
    """`diff --learn` proposes aliases rather than values to ignore, and hides no missing frame."""

    def run(number: int, *gone: str) -> Run:
        made = Run(number)
        for name in ("a", "b"):
            made.tell("plan", list=[{"ref": f"ref-{name}{number}77", "cost": number}])
        for name in gone:
            made.tell("current_mode_update", currentModeId=name)
        return made.end()

    learned = rules(run(0), run(1))
    assert learned.aliases == ("/params/update/list/*/ref",)
    assert learned.ignored == ("/params/update/list/*/cost",)
    assert learned.rest == Counts()
    assert rules(run(0, "gone"), run(1)).rest == Counts(only_a=1)


def _raced(number: int, *, tool_first: bool) -> Run:
    """Returns a run in which a tool call ends before or after the model's next words."""
    run, call = Run(number), Run(number).call("x")
    run.tell("tool_call", toolCallId=call, title="make", kind="execute", status="pending")
    if not tool_first:
        run.words("it is ")
    run.tell("tool_call_update", toolCallId=call, status="completed")
    if tool_first:
        run.words("it is ")
    return run.words("done").end()


def test_one_kind_of_message_can_be_compared_apart() -> None:
    """With a rule `apart` for one kind of message, `diff` ignores its order among other kinds."""
    a, b = _raced(0, tool_first=True), _raced(1, tool_first=False)
    result, (entry,) = compare(a, b)
    assert (result.counts, entry.change) == (Counts(moved=1), Change.MOVED)
    for kind in ("tool_call_update", "agent_message_chunk"):
        assert compare(a, b, apart=(kind,))[0].is_equal
    assert compare(a, b, apart=("tool_call",))[0].counts == Counts(moved=1)
    twice = _raced(1, tool_first=False)
    twice.said.append(next(item for item in b.said if "completed" in str(item)))
    assert compare(a, twice, apart=("tool_call_update",))[0].counts == Counts(only_b=1)


def test_an_order_is_learned_last() -> None:
    """`diff --learn` proposes to ignore the order of an update only if this removes differences."""
    learned = rules(_raced(0, tool_first=True), _raced(1, tool_first=False))
    assert learned == Learned((), (), ("tool_call_update",), Counts())
    a, b = Run(0).tell("plan", entries=[1]), Run(1).tell("plan", entries=[2])
    a.tell("plan", entries=[2]).end()
    b.tell("plan", entries=[1]).end()
    assert rules(a, b).apart == ()


@pytest.mark.parametrize("second", ["[redacted:token:0000000b]", "[redacted:key:0000000c]"])
def test_secrets_of_two_runs_are_paired(second: str) -> None:
    """If two equal secrets of A are two different secrets in B, `diff` reports a difference."""

    def run(number: int, *markers: str) -> Run:
        said = Run(number)
        for marker in markers:
            said.add(IN, notification("x/said", text=f"use {marker} now"))
        return said

    first = "[redacted:token:0000000a]"
    old = run(0, "[redacted:env:00000001]", "[redacted:env:00000001]")
    assert compare(old, run(1, first, first))[0].is_equal
    assert not compare(old, run(1, first, second))[0].is_equal
