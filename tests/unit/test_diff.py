"""What two runs of one scenario differ in always, and what is a difference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from acp_proxy.difference.diff import diff
from acp_proxy.difference.learning import learn
from acp_proxy.difference.options import Options
from acp_proxy.difference.result import Change, Counts, Expect, Field
from acp_proxy.filters import parse
from tests.conversations import HEADER, reader_of
from tests.scribe import error, notification, request, result, text

if TYPE_CHECKING:
    from acp_proxy.difference.learning import Learned
    from acp_proxy.difference.result import Diff, Entry
    from acp_proxy.store.reader import RecordingReader

UUIDS = (
    "0b5cf80e-5e1a-4c53-9f4c-2f7d3a1b6c01",
    "a1b2c3d4-0000-4000-8000-00000000beef",
)
Said = tuple[str, Any]
OUT, IN = "to-agent", "to-client"


class Run:
    """One run of a scenario, with ids and directories of its own."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.session = f"ses_{number}aZ8k2Lq90{number}"
        self.cwd = f"/home/{'ab'[number]}{'x' * number}/project"
        self.said: list[Said] = [
            (OUT, request(0, "initialize", protocolVersion=1, clientCapabilities={})),
            (IN, result(0, protocolVersion=1, agentCapabilities={"loadSession": True})),
            (OUT, request(1, "session/new", cwd=self.cwd, mcpServers=[])),
            (IN, result(1, sessionId=self.session)),
            (OUT, request(2, "session/prompt", sessionId=self.session, prompt=[text("go")])),
        ]

    def call(self, name: str) -> str:
        """A tool call's id, another one in each run."""
        return f"toolu_{name}{self.number}{hash_of(name, self.number)}"

    def tell(self, what: str, /, **fields: Any) -> Run:
        """Adds a session update."""
        params = {"sessionId": self.session, "update": {"sessionUpdate": what, **fields}}
        self.said.append((IN, notification("session/update", **params)))
        return self

    def words(self, *pieces: str, **fields: Any) -> Run:
        """Adds a text in pieces."""
        for piece in pieces:
            self.tell("agent_message_chunk", content=text(piece), **fields)
        return self

    def add(self, stream: str, message: Any) -> Run:
        """Adds whatever is said."""
        self.said.append((stream, message))
        return self

    def end(self, reason: str = "end_turn") -> Run:
        """Ends the turn."""
        return self.add(IN, result(2, stopReason=reason))

    def open(self) -> RecordingReader:
        """The run as a recording."""
        lines = [json.dumps(HEADER)]
        for stream, message in self.said:
            member = "text" if isinstance(message, str) else "message"
            lines.append(json.dumps({"stream": stream, member: message}))
        return reader_of([f"{line}\n".encode() for line in lines])


def hash_of(name: str, number: int) -> int:
    """Some digits."""
    return sum(map(ord, name)) * 7919 + number * 104729


def compare(a: Run, b: Run, **options: Any) -> tuple[Diff, list[Entry]]:
    """What is different between two runs."""
    with a.open() as of_a, b.open() as of_b:
        found = diff(of_a, of_b, Options(**options))
        return found, [*found.entries()]


def rules(a: Run, b: Run) -> Learned:
    """The rules that make two runs equal."""
    with a.open() as of_a, b.open() as of_b:
        return learn(of_a, of_b)


def told(run: Run) -> Run:
    """A scenario with everything in it that is never the same."""
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


def test_two_runs_are_equal_whatever_is_never_the_same() -> None:
    """Ids, directories, times, process ids, wherever they stand."""
    found, entries = compare(told(Run(0)), told(Run(1)))
    assert (found.counts, entries) == (Counts(), [])
    assert found.aliases["path:cwd"] == ("/home/a/project", "/home/bx/project")
    assert found.aliases["session:1"] == (Run(0).session, Run(1).session)


def test_exactly_they_are_not() -> None:
    """Not one of these frames has the same bytes."""
    found, _ = compare(told(Run(0)), told(Run(1)), exact=True)
    assert found.counts.total > 10


def test_a_text_is_the_same_in_other_pieces() -> None:
    """Also if a value is cut in two."""
    a, b = Run(0).words("Hello, ", "wor", "ld"), Run(1).words("Hel", "lo, world", "")
    assert compare(a.end(), b.end())[0].is_equal
    a = Run(0).words(f"in {Run(0).cwd[:9]}", f"{Run(0).cwd[9:]}/x")
    b = Run(1).words(f"in {Run(1).cwd}/x")
    assert compare(a.end(), b.end())[0].is_equal


def test_a_value_may_be_named_before_it_is_introduced() -> None:
    """In its own message, as codex does, and in an earlier one."""

    def run(number: int) -> Run:
        made = Run(number)
        call = made.call("one")
        made.words(f"{call} is next").tell("plan", entries=[])
        update = {"toolCallId": call, "rawInput": {"about": f"{call} in it"}}
        made.tell("tool_call", title=f"run {call}", content=[{"ref": call}], **update)
        return made.end()

    assert compare(run(0), run(1))[0].is_equal


def test_a_directory_may_lack_its_slash() -> None:
    """As opencode has it, where there is no repository."""
    a, b = (Run(number).tell("plan", at=f"{Run(number).cwd[1:]}/notes.txt") for number in (0, 1))
    assert compare(a.end(), b.end())[0].is_equal
    a, b = (Run(number).tell("plan", at="/mnt/home/a/project/x") for number in (0, 1))
    assert compare(a.end(), b.end())[0].is_equal  # not even a part of it


def test_a_title_is_cut_somewhere() -> None:
    """Where that is depends on the directory in it; without one, all of it counts."""

    def run(number: int, title: str) -> Run:
        return Run(number).tell("session_info_update", title=title).end()

    whole = run(0, f"Read {Run(0).cwd}/notes.txt, and")
    assert compare(whole, run(1, f"Read {Run(1).cwd}/not"))[0].is_equal
    assert compare(whole, run(1, f"Read {Run(1).cwd[:9]}…"))[0].is_equal
    assert not compare(whole, run(1, f"Write {Run(1).cwd}/notes.txt"))[0].is_equal
    assert not compare(run(0, "Read this"), run(1, "Read that"))[0].is_equal


def test_an_agent_may_write_spaces() -> None:
    """As Python does, unless it is told not to; a text is still joined."""

    def spaced(run: Run) -> Run:
        run.said[5:] = [(stream, json.dumps(message)) for stream, message in run.said[5:]]
        return run

    a, b = Run(0).words("one", "two").end(), spaced(Run(1).words("onet", "w", "o").end())
    assert compare(a, b)[0].is_equal


def test_a_request_is_no_notification() -> None:
    """Though it says the same."""
    params = {"sessionId": Run(0).session, "x": 1}
    a, b = (
        Run(0).add(IN, notification("x/y", **params)),
        Run(0).add(IN, request(9, "x/y", **params)),
    )
    assert compare(a, b)[0].counts == Counts(only_a=1, only_b=1)


def test_the_same_id_of_two_kinds_is_two_values() -> None:
    """Agents count from one, calls and terminals alike."""

    def run(number: int, call: str, terminal: str) -> Run:
        made = Run(number).tell("tool_call", toolCallId=call, title="x")
        made.tell("tool_call_update", toolCallId=call, terminalId=terminal)
        made.add(IN, request(9, "terminal/output", sessionId=made.session, terminalId=terminal))
        return made.end()

    assert compare(run(0, "1", "1"), run(1, "1", "2"))[0].is_equal


def test_a_request_that_is_cancelled_has_any_number() -> None:
    """And that number means nothing elsewhere in the message, nor in others."""

    def run(number: int) -> Run:
        made = Run(number).add(OUT, notification("$/cancel_request", requestId=number + 7))
        made.tell("tool_call_update", toolCallId=made.call("a"), rawOutput={"pid": 7 + number * 99})
        return made.words("exit code 7 of 8").end()

    assert compare(run(0), run(1))[0].is_equal


def test_a_call_may_be_named_as_a_uuid_first() -> None:
    """Whatever it is called in the other run."""

    def run(number: int, call: str) -> Run:
        made = Run(number).tell("tool_call", rawInput={"about": call}, toolCallId=call, title="x")
        return made.tell("tool_call_update", toolCallId=call, status="completed").end()

    assert compare(run(0, "call_12345678"), run(1, UUIDS[1]))[0].is_equal


def test_the_handshake_has_values_too() -> None:
    """What is the same there needs no name, and what is not has one."""

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


def test_what_is_told_again_later_is_told_twice() -> None:
    """Only right behind itself does it say nothing new."""

    def run(number: int, *names: str) -> Run:
        made = Run(number)
        for name in names:
            where = made.cwd if name == "cwd" else "elsewhere"
            made.tell("available_commands_update", availableCommands=[{"name": where}])
        return made.end()

    assert compare(run(0, "cwd", "cwd", "x"), run(1, "cwd", "x", "x"))[0].is_equal
    assert compare(run(0, "cwd", "x", "cwd"), run(1, "cwd", "x"))[0].counts == Counts(only_a=1)


def test_what_is_too_large_or_too_deep_is_compared_by_its_bytes() -> None:
    """Neither is ever equal to something else."""

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


def test_a_chunk_that_differs_beside_its_text_has_a_place() -> None:
    """If all of them do."""
    a, b = Run(0).words("one", "two"), Run(1).words("onetwo", _meta={"x": 1})
    _, (entry,) = compare(a.end(), b.end())
    assert [(field.pointer, field.only) for field in entry.fields] == [
        ("/params/update/_meta", "b")
    ]


@pytest.mark.parametrize("cwd", ["/app", "/workspace", "/root", "/tmp"])
def test_a_directory_of_one_step_is_one_too(cwd: str) -> None:
    """In containers that is where the project is; the system's own have to be known to be meant."""

    def run(number: int, cwd: str) -> Run:
        made = Run(number)
        made.said[2] = (OUT, request(1, "session/new", cwd=cwd, mcpServers=[]))
        return made.tell("tool_call", toolCallId="c", title=f"Read {cwd}/x").end()

    assert compare(run(0, cwd), run(1, "/home/me/p"), same=(("/home/me/p", cwd),))[0].is_equal
    assert compare(run(0, cwd), run(1, "/home/me/p"))[0].is_equal == (cwd in ("/app", "/workspace"))


def test_calls_that_run_at_once_are_told_of_in_any_order() -> None:
    """Those that run one after the other are not."""

    def run(number: int, *told: str) -> Run:
        made = Run(number)
        for one in told:
            name, status = one.split()
            made.tell("tool_call_update", toolCallId=made.call(name), status=status, title=name)
        return made.end()

    at_once = run(0, "a begun", "b begun", "a done", "b done")
    assert compare(at_once, run(1, "b begun", "a begun", "b done", "a done"))[0].is_equal
    in_turn = run(0, "a begun", "a done", "b begun", "b done")
    assert compare(in_turn, run(1, "a begun", "b begun", "a done", "b done"))[0].counts == Counts(
        moved=1
    )


def reading(number: int, *told: str, kind: str = "read") -> Run:
    """A run with calls of a kind."""
    made = Run(number)
    for one in told:
        name, status = one.split()
        if name == "fs":
            params = {"sessionId": made.session, "path": f"{made.cwd}/{status}"}
            made.add(IN, request(f"{number}-{status}", "fs/read_text_file", **params))
            continue
        what = "tool_call" if status == "begun" else "tool_call_update"
        fields = {"kind": kind} if what == "tool_call" else {}
        made.tell(what, toolCallId=made.call(name), status=status, title=name, **fields)
    return made.end()


def test_what_is_only_looked_at_has_no_order() -> None:
    """Reads, searches and fetches, if nothing else is said in between; edits have one."""
    in_turn = ("a begun", "a done", "b begun", "b done")
    turned = ("b begun", "b done", "a begun", "a done")
    assert compare(reading(0, *in_turn), reading(1, *turned))[0].is_equal
    found, _ = compare(reading(0, *in_turn, kind="edit"), reading(1, *turned, kind="edit"))
    assert found.counts == Counts(moved=2)
    files = ("fs x", "fs y"), ("fs y", "fs x")
    assert compare(reading(0, *files[0]), reading(1, *files[1]))[0].is_equal


def test_a_file_is_not_read_before_the_call_that_reads_it() -> None:
    """Its end may overtake that of another one."""
    told = ("a begun", "fs x", "b begun", "a done", "fs y", "b done")
    early = ("fs x", "a begun", "b begun", "a done", "fs y", "b done")
    assert compare(reading(0, *told), reading(1, *early))[0].counts == Counts(moved=1)
    overtaken = ("a begun", "fs x", "b begun", "fs y", "a done", "b done")
    assert compare(reading(0, *told), reading(1, *overtaken))[0].is_equal


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("one X two", "one two X"),
        ("X one two", "one X two"),
        ("one ~two three four", "one three ~two four"),
        ("one X Y Z two", "one two X Y Z"),
        ("one X two three Y four", "one two X three Y four"),
    ],
)
def test_what_was_swapped_with_a_piece_of_a_text_is_one_move(a: str, b: str) -> None:
    """The text is the same, and so it is no difference that it was cut elsewhere."""

    def run(number: int, told: str) -> Run:
        made = Run(number)
        for one in told.split():
            if one[0].isupper():
                made.tell("plan", entries=[{"content": one}])
            elif one.startswith("~"):
                made.tell("agent_thought_chunk", content=text(one))
            else:
                made.words(f"{one} ")
        return made.end()

    assert compare(run(0, a), run(1, b))[0].counts == Counts(moved=1)


def test_one_odd_chunk_in_a_text_is_one_field() -> None:
    """What stands beside its text, and not what the text is cut into."""
    a = Run(0).words("one ", "two ", "three")
    b = Run(1).words("one ").words("two ", _meta={"x": 1}).words("three")
    found, (entry,) = compare(a.end(), b.end())
    assert found.counts == Counts(changed=1)
    assert [(field.pointer, field.only) for field in entry.fields] == [
        ("/params/update/_meta", "b")
    ]
    assert (entry.a_frames, entry.b, entry.b_frames) == (3, 7, 1)


def test_an_empty_chunk_says_nothing() -> None:
    """Wherever it comes to stand by itself; with something beside it, that is told."""
    plan: dict[str, Any] = {"entries": []}
    a = Run(0).words("", "one").tell("plan", **plan)
    b = Run(1).words("one").tell("plan", **plan).words("")
    assert compare(a.end(), b.end())[0].is_equal
    c = Run(1).words("", _meta={"x": 1}).words("one").tell("plan", **plan)
    _, (entry,) = compare(a, c.end())
    assert [field.pointer for field in entry.fields] == ["/params/update/_meta"]


def test_values_in_the_output_of_commands_have_names() -> None:
    """Those that are written there in words which are known."""

    def run(number: int) -> Run:
        said = f"Chunk ID: a{number}6caf\nthread 'main' (1859{number}) panicked at src/x.rs:1"
        return Run(number).tell("tool_call_update", toolCallId="c", rawOutput=said).end()

    assert compare(run(0), run(1))[0].is_equal


def asking(number: int, *answers: str) -> Run:
    """A run with a request for leave to do each of two things, and their answers, in any order."""
    made = Run(number)
    for place, name in enumerate(("remove", "list")):
        call = {"toolCallId": made.call(name), "title": name}
        asked = {"sessionId": made.session, "toolCall": call, "options": []}
        made.add(IN, request(f"{number}-{place}", "session/request_permission", **asked))
    for answer in answers:
        option, which = answer.split()
        outcome = {"outcome": "selected", "optionId": option}
        made.add(OUT, result(f"{number}-{which}", outcome=outcome))
    return made.end()


@pytest.mark.parametrize("expect", [Expect.FRAMES, Expect.STRUCTURE])
def test_an_answer_belongs_to_its_request(expect: Expect) -> None:
    """The same answers to the other requests are others."""
    a = asking(0, "allow 0", "reject 1")
    assert compare(a, asking(1, "allow 0", "reject 1"), expect=expect)[0].is_equal
    found, entries = compare(a, asking(1, "allow 1", "reject 0"), expect=expect)
    assert found.counts == Counts(changed=2)
    assert [field.pointer for entry in entries for field in entry.fields] == ["/id", "/id"]


def test_of_two_equal_answers_the_one_that_is_missing_is_told() -> None:
    """It is known which request has none."""
    _, (entry,) = compare(asking(0, "allow 0", "allow 1"), asking(1, "allow 1"))
    assert (entry.change, entry.a) == (Change.ONLY_A, 8)


def test_a_cancelled_request_is_the_one_that_was_made() -> None:
    """Whatever its id is."""

    def run(number: int, place: int) -> Run:
        made = asking(number)
        return made.add(IN, notification("$/cancel_request", requestId=f"{number}-{place}"))

    assert compare(run(0, 1), run(1, 1))[0].is_equal
    _, (entry,) = compare(run(0, 1), run(1, 0))
    assert [field.pointer for field in entry.fields] == ["/params/requestId"]


@pytest.mark.parametrize(
    ("b", "told"),
    [
        ("a1 b1 c2", 1),
        ("a1 b2 c2", 0),
        ("ab1 c2", 1),
        ("a1 bc2", 0),
    ],
)
def test_where_a_message_ends_is_told(b: str, told: int) -> None:
    """By the ids that its chunks have, and not by how they are cut."""

    def run(number: int, pieces: str) -> Run:
        made = Run(number)
        for piece in pieces.split():
            made.words(piece[:-1], messageId=f"{number}{number}message-{piece[-1]}")
        return made.end()

    found, entries = compare(run(0, "a1 b2 c2"), run(1, b))
    assert found.counts == Counts(changed=told)
    assert [field.pointer for entry in entries for field in entry.fields] == [
        "/params/update/messageId"
    ] * told


def test_a_directory_below_a_known_one_is_no_other() -> None:
    """What runs in one runs there, and not anywhere."""

    def run(number: int, below: str) -> Run:
        made = Run(number)
        where = {"sessionId": made.session, "command": "rm", "cwd": f"{made.cwd}{below}"}
        return made.add(IN, request(9, "terminal/create", **where))

    assert compare(run(0, "/build"), run(1, "/build"))[0].is_equal
    _, (entry,) = compare(run(0, "/build"), run(1, "/src"))
    assert entry.fields == (Field("/params/cwd", "«path:cwd»/build", "«path:cwd»/src"),)


def test_a_directory_is_recognized_in_a_uri() -> None:
    """Also with what has to be escaped there."""

    def run(number: int, cwd: str) -> Run:
        made = Run(number)
        made.said[2] = (OUT, request(1, "session/new", cwd=cwd, mcpServers=[]))
        return made.tell("tool_call", toolCallId="c", rawInput=quote(f"file://{cwd}/x", ":/"))

    assert compare(run(0, "/home/me/my pröject"), run(1, "/srv/p"))[0].is_equal


def test_a_null_is_a_line() -> None:
    """If not a message."""
    a, b = Run(0), Run(1).add(IN, "null")
    assert compare(a, b)[0].counts == Counts(only_b=1)


def test_half_a_character_is_a_piece_of_a_text() -> None:
    """Some agents cut between the escapes of one."""
    a, b = Run(0).words("ab 😀 cd"), Run(1).words("ab \ud83d", "\ude00 cd")
    b.said = [(stream, json.dumps(message)) for stream, message in b.said]
    assert compare(a.end(), b.end())[0].is_equal


def test_two_changes_beside_what_is_repeated_are_two() -> None:
    """The one that is the same is the one between them."""

    def run(number: int, *told: str) -> Run:
        made = Run(number)
        for one in told:
            made.tell("plan", entries=[{"content": one[0]}], **({"x": 1} if one[1:] else {}))
        return made

    found, _ = compare(run(0, "p", "x", "x"), run(1, "q", "x", "x+"))
    assert found.counts == Counts(changed=2)


def test_what_looks_like_a_name_is_none() -> None:
    """A session that is called so, say."""
    a = Run(0).tell("plan", entries=[], of=Run(0).session)
    assert not compare(a, Run(1).tell("plan", entries=[], of="session:1"))[0].is_equal


def test_what_is_called_alike_may_be_of_two_kinds() -> None:
    """A call and its terminal, even if their id is found in a text first."""

    def run(number: int, one: str) -> Run:
        made = Run(number).tell("plan", entries=[{"content": one}])
        made.tell("tool_call", toolCallId=one, title="Run")
        return made.tell("tool_call_update", content=[{"type": "terminal", "terminalId": one}])

    assert compare(run(0, UUIDS[0]), run(1, UUIDS[1]))[0].is_equal


def test_chunks_of_the_draft_are_joined_too() -> None:
    """However they are numbered."""

    def run(number: int, *pieces: str) -> Run:
        made = Run(number)
        for place, piece in enumerate(pieces):
            data = {"content": piece, "index": place, "final": place + 1 == len(pieces)}
            params = {"sessionId": made.session, "type": "agent_message_chunk", "data": data}
            made.add(IN, notification("session/update", **params))
        return made

    assert compare(run(0, "one ", "two"), run(1, "on", "e t", "wo"))[0].is_equal
    _, (entry,) = compare(run(0, "one ", "two"), run(1, "one ", "three"))
    assert [field.pointer for field in entry.fields] == ["/params/data/content"]


def test_a_changed_word_of_a_long_text_is_one_field() -> None:
    """As one entry with all frames of the text."""
    a = Run(0).words("one", "two", "three", "four")
    b = Run(1).words("onetwo", "3four")
    found, (entry,) = compare(a.end(), b.end())
    assert found.counts == Counts(changed=1)
    assert (entry.a, entry.a_frames, entry.b, entry.b_frames) == (6, 4, 6, 2)
    (field,) = entry.fields
    assert field == Field("/params/update/content/text", "onetwothreefour", "onetwo3four")


def test_a_call_that_is_gone_moves_no_names() -> None:
    """Others keep theirs, whatever their numbers are."""

    def calls(run: Run, *names: str) -> Run:
        for name in names:
            run.tell("tool_call", toolCallId=run.call(name), title="Run it")
        for name in names:
            run.tell("tool_call_update", toolCallId=run.call(name), title=name)
        return run.end()

    found, entries = compare(calls(Run(0), "a", "b", "c"), calls(Run(1), "b", "c"))
    assert found.counts == Counts(only_a=2)
    assert [entry.title.rpartition(" ")[2] for entry in entries] == [
        "tool_call",
        "tool_call_update",
    ]


def test_sessions_are_told_by_what_was_said_in_them() -> None:
    """Not by the order in which they were made."""

    def two(number: int, *words: str) -> Run:
        run = Run(number)
        del run.said[2:]
        for place, word in enumerate(words, 3):
            run.session = f"ses_{word}{number}99{number}"
            run.add(OUT, request(place, "session/new", cwd=run.cwd, mcpServers=[]))
            run.add(IN, result(place, sessionId=run.session)).words(word)
        return run

    assert compare(two(0, "cats", "dogs"), two(1, "dogs", "cats"))[0].is_equal
    found, (entry,) = compare(two(0, "cats", "dogs"), two(1, "dogs", "cows"))
    assert (entry.lane, entry.fields[0].b) == ("session:1", "cows")
    assert found.counts == Counts(changed=1)


def test_how_things_are_is_told_when_the_agent_pleases() -> None:
    """Such an update may come elsewhere, and again with nothing new."""
    commands = [{"name": "a", "description": "b"}]
    a = Run(0).tell("available_commands_update", availableCommands=commands).words("hi")
    b = Run(1).words("hi").tell("available_commands_update", availableCommands=commands)
    b.tell("usage_update", used=1, size=2).tell("usage_update", used=1, size=2)
    a.tell("usage_update", used=1, size=2)
    assert compare(a.end(), b.end())[0].is_equal
    b.tell("usage_update", used=3, size=2)
    assert compare(a, b)[0].counts == Counts(only_b=1)


def test_a_new_item_of_a_list_is_one_field() -> None:
    """Even in front of all others."""
    commands = [{"name": name, "description": name} for name in "bcd"]
    a = Run(0).tell("available_commands_update", availableCommands=commands)
    new = {"name": "a", "description": "a"}
    b = Run(1).tell("available_commands_update", availableCommands=[new, *commands])
    _, (entry,) = compare(a.end(), b.end())
    assert entry.fields == (Field("/params/update/availableCommands/0", b=new, only="b"),)


def test_capabilities_come_first() -> None:
    """They are no entry of a lane."""
    b = Run(1)
    b.said[1] = (IN, result(0, protocolVersion=1, agentCapabilities={"loadSession": False}))
    found, entries = compare(Run(0).end(), b.end())
    assert (found.counts, entries) == (Counts(handshake=1), [])
    assert found.handshake == (Field("/result/agentCapabilities/loadSession", True, False),)


def test_a_refusal_is_no_answer() -> None:
    """The result is only in A, the error only in B."""
    b = Run(1).add(IN, error(2, -32603, "no"))
    _, (entry,) = compare(Run(0).end(), b)
    assert [(field.pointer, field.only) for field in entry.fields] == [
        ("/result", "a"),
        ("/error", "b"),
    ]


def test_what_is_no_message_is_compared_as_text() -> None:
    """Stray lines and batches, too."""
    a = Run(0).add(IN, "debug: started in /home/a/project").add(IN, [notification("x"), result(9)])
    b = Run(1).add(IN, "debug: started in /home/bx/project").add(IN, [notification("x"), result(8)])
    assert compare(a.end(), b.end())[0].is_equal
    b.add(IN, "debug: and more")
    _, (entry,) = compare(a, b)
    assert (entry.change, entry.title) == (Change.ONLY_B, "a line that is no message")


def test_short_ids_are_ordinary_words() -> None:
    """In a text they are no names, so they do not hide what differs there."""

    def run(number: int, call: str) -> Run:
        made = Run(number).tell("tool_call", toolCallId=call, title="x")
        return made.words("edit it").end()

    assert compare(run(0, "edit"), run(1, "toolu_1"))[0].is_equal


def test_a_directory_near_the_root_is_named_nowhere_else() -> None:
    """Texts are full of such words; typed places are not."""

    def run(number: int, cwd: str) -> Run:
        made = Run(number)
        made.said[2] = (OUT, request(1, "session/new", cwd=cwd, mcpServers=[]))
        return made.words("kept in /tmp/cache").end()

    assert compare(run(0, "/tmp"), run(1, "/work"))[0].is_equal


@pytest.mark.parametrize(
    ("expect", "total"), [(Expect.FRAMES, 3), (Expect.STRUCTURE, 1), (Expect.OUTCOME, 1)]
)
def test_how_much_counts(expect: Expect, total: int) -> None:
    """Texts count only among frames, a stop reason always."""
    a = Run(0).words("one").tell("plan", entries=[]).end()
    b = Run(1).words("two").tell("plan", entries=[{"content": "c"}]).end("refusal")
    found, entries = compare(a, b, expect=expect)
    assert found.counts == Counts(changed=total)
    assert entries[-1].fields == (Field("/result/stopReason", "end_turn", "refusal"),)


def test_the_structure_is_what_was_done() -> None:
    """A renamed tool and a missing call are told, other words and other pieces are not."""

    def run(number: int, title: str, *more: str) -> Run:
        made = Run(number).words(*["word"] * (number + 1))
        for one in (title, *more):
            made.tell("tool_call", toolCallId=made.call(one), title=one, kind="read")
            for _ in range(number + 1):
                made.tell("tool_call_update", toolCallId=made.call(one), status="completed")
        return made.end()

    same = compare(run(0, "Read"), run(1, "Read"), expect=Expect.STRUCTURE)
    assert same[0].is_equal
    _, (entry,) = compare(run(0, "Read"), run(1, "Look"), expect=Expect.STRUCTURE)
    assert entry.fields == (Field("/params/update/title", "Read", "Look"),)
    found, _ = compare(run(0, "Read", "Write"), run(1, "Read"), expect=Expect.STRUCTURE)
    assert found.counts == Counts(only_a=2)


def test_the_outcome_forgives_what_was_done() -> None:
    """But not what the agent can do, nor that it refuses."""
    a, b = Run(0).words("x").end(), Run(1).tell("plan", entries=[]).end()
    assert compare(a, b, expect=Expect.OUTCOME)[0].is_equal
    b.said[1] = (IN, result(0, protocolVersion=1, agentCapabilities={"loadSession": False}))
    assert compare(a, b, expect=Expect.OUTCOME)[0].counts == Counts(handshake=1)


def test_options_ignore_and_name() -> None:
    """A place that is left out, one that gets names, and a filter."""
    a = Run(0).tell("plan", x="same-1234", y="one", z="same-1234")
    b = Run(1).tell("plan", x="other-5678", y="two", z="other-5678")
    ignored = ("/params/update/y",)
    assert compare(a, b, ignored=("/params/update",))[0].is_equal
    assert compare(a, b, ignored=ignored, aliases=("/params/update/*",))[0].is_equal
    _, (entry,) = compare(a, b, ignored=ignored)
    assert [field.pointer[-1] for field in entry.fields] == ["x", "z"]
    assert compare(a, b, chosen=parse("not method:session/update"))[0].is_equal


def test_the_text_of_chunks_can_be_left_out() -> None:
    """Though it is told in pieces."""
    a, b = Run(0).words("one", " two").end(), Run(1).words("three").end()
    assert compare(a, b, ignored=("/params/update/content/text",))[0].is_equal
    assert compare(a, b, aliases=("/params/update/content/text",))[0].is_equal
    assert not compare(a, b)[0].is_equal


def test_a_name_is_not_the_same_everywhere() -> None:
    """That is what it is for."""
    a = Run(0).tell("plan", x="one-12345", y="one-12345")
    b = Run(1).tell("plan", x="other-678", y="third-999")
    _, (entry,) = compare(a, b, aliases=("/params/update/x", "/params/update/y"))
    assert [(field.pointer, field.a) for field in entry.fields] == [("/params/update/y", "value:1")]


def test_two_directories_can_be_one() -> None:
    """As `verify` knows it of the one that it has made."""
    a = Run(0).words("wrote /home/a/project/x").end()
    b = Run(1).words("wrote /home/a/project/x").end()
    assert not compare(a, b)[0].is_equal
    assert compare(a, b, same=((Run(1).cwd, Run(0).cwd),))[0].is_equal


def test_rules_are_learned_names_first() -> None:
    """What looks minted gets a name, what does not is left out, and what is gone remains."""

    def run(number: int, *gone: str) -> Run:
        made = Run(number)
        for one in ("a", "b"):
            made.tell("plan", list=[{"ref": f"ref-{one}{number}77", "cost": number}])
        for one in gone:
            made.tell("current_mode_update", currentModeId=one)
        return made.end()

    learned = rules(run(0), run(1))
    assert learned.aliases == ("/params/update/list/*/ref",)
    assert learned.ignored == ("/params/update/list/*/cost",)
    assert learned.rest == Counts()
    assert rules(run(0, "gone"), run(1)).rest == Counts(only_a=1)
