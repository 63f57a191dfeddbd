"""``acp-proxy import`` makes recordings from logs of other tools, and reports what is lost."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.imports.log_formats import NAMES
from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import complaint, run
from tests.support.foreign_log_writers import (
    STDERR,
    TO_AGENT,
    TO_CLIENT,
    WRITERS,
    Sent,
    conversation_of,
)
from tests.support.shipped_recordings import DIRECTORY
from tests.support.text_recordings import run_with

if TYPE_CHECKING:
    from acp_proxy.recording.recording import Recording

SENT = [line for line in conversation_of(DIRECTORY / "tour.db") if line.stream is not STDERR]
INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
ANSWER = b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
KEY = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A recordings directory that does not exist yet."""
    return tmp_path / "home"


def imported(path: Path) -> tuple[Recording, list[Any]]:
    """Returns the row of a recording, and its frames."""
    with RecordingReader(path, unredacted=True) as reader:
        rows = reader.connection.execute("SELECT stream, raw, t_ns FROM frames ORDER BY seq")
        return reader.recording, rows.fetchall()


def refused(text: str, *arguments: str, home: Path) -> str:
    """Returns the single line on stderr about a text on standard input."""
    result = run_with(text.encode(), *arguments, home=home)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("acp-proxy: ").rstrip("\n")


def test_a_log_becomes_a_recording_of_its_name(tmp_path: Path, home: Path) -> None:
    """`import` names a recording after the log of another tool, and prints what the log lacks."""
    log = tmp_path / "acp-transport.log"
    log.write_text(WRITERS["jetbrains"].write(SENT) + "\n")
    result = run("inspect", "import", log, home=home)
    assert (result.exit_code, result.stdout) == (0, f"{home / 'acp-transport.db'}\n")
    lines = f"{len(SENT)} messages; {len(SENT) + 1} lines: {len(SENT)} of messages, 1 blank"
    assert f"acp-proxy: {log}: a transport log of a JetBrains IDE with {lines}; not known: " in (
        result.stderr
    )
    recording, frames = imported(home / "acp-transport.db")
    assert (recording.name, recording.state) == ("acp-transport", "complete")
    assert recording.started_at == "2026-01-02T03:04:05.002000+00:00"
    assert recording.redaction == "secrets"
    assert recording.agent_name == "demo-agent"
    assert [(stream, raw) for stream, raw, _ in frames] == [sent[:2] for sent in SENT]
    assert [t_ns for *_, t_ns in frames] == [(sent.ms - SENT[0].ms) * 10**6 for sent in SENT]
    origin = recording.origin
    assert origin is not None
    assert (origin.source, origin.resolution_ns) == ("jetbrains", 10**6)
    assert origin.lost == ("bytes", "command", "ending", "stderr", "zone")
    assert (origin.inferred_directions, origin.inferred_times, origin.skipped) == (0, 0, 0)
    assert run("inspect", "show", "acp-transport", home=home).exit_code == 0


@pytest.mark.parametrize(
    ("part", "step_ns", "said"), [("", 10**9, "<1 s"), (".250", 10**7, "<10 ms")]
)
def test_the_unit_of_times_is_found(home: Path, part: str, step_ns: int, said: str) -> None:
    """`import` infers the resolution of a log's times, such as a second, from these times."""
    at = f"2026-01-02 03:04:05{part}"
    text = f"{at} OUT: {INITIALIZE.decode()}\n{at} IN: {ANSWER.decode()}\n"
    run_with(text.encode(), "inspect", "import", "-", "--name", "x", home=home)
    recording, _ = imported(home / "x.db")
    assert recording.origin is not None
    assert recording.origin.resolution_ns == step_ns
    for command, place in (("log", f"↩1 {said} "), ("stats", said), ("show", f", {said}\n")):
        assert place in run("inspect", command, "x", home=home).stdout, command


def test_times_that_go_back_are_not_believed(home: Path) -> None:
    """If a time in an imported log is before the time above it, `import` uses the time above."""
    stamps = ("03:04:05", "02:04:06", "02:04:07", "03:04:08", "2026-01-02T03:04:09Z")
    message = '{"jsonrpc":"2.0","id":0,"method":"session/prompt"}'
    text = "".join(f"{stamp} → {message}\n" for stamp in stamps)
    run_with(text.encode(), "inspect", "import", "-", "--name", "x", home=home)
    recording, frames = imported(home / "x.db")
    assert [t_ns // 10**9 for *_, t_ns in frames] == [0, 0, 0, 3, 3]
    assert recording.origin is not None
    assert recording.origin.inferred_times == 3
    assert "-3" not in run("inspect", "log", "x", home=home).stdout
    stats = run("inspect", "stats", "x", home=home).stdout
    assert "no durations: 3 messages in a plain log have no usable time" in stats


def test_a_line_that_cannot_be_read_is_an_error_or_counted(tmp_path: Path, home: Path) -> None:
    """`import` refuses a log with an unreadable line; `--skip-bad` skips and counts such lines."""
    log = tmp_path / "a.log"
    log.write_bytes(b"OUT: " + INITIALIZE + b'\nIN: {"jsonrpc":"2.0","id":0,"res\nIN: ' + ANSWER)
    assert complaint("inspect", "import", log, home=home) == (
        f"cannot read {log} as a recording: line 2: expected a message, got one that is cut off;"
        " --skip-bad leaves such lines out"
    )
    assert list(home.iterdir()) == []
    result = run("inspect", "import", log, "--skip-bad", home=home)
    assert "with 2 messages; 3 lines: 2 of messages, 1 skipped" in result.stderr
    assert "skipped line 2: expected a message" in result.stderr
    recording, _ = imported(home / "a.db")
    assert recording.origin is not None
    assert recording.origin.skipped == 1
    assert "middle" in recording.origin.lost


@pytest.mark.skipif(os.name == "nt", reason="expected a limit of open files")
def test_a_log_may_have_more_connections_than_a_process_has_files(
    tmp_path: Path, home: Path
) -> None:
    """`import` can read a log with more connections than a process may have open files."""
    import resource

    log = tmp_path / "a.log"
    log.write_bytes((b"OUT: " + INITIALIZE + b"\n") * 40)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = {int(descriptor.name) for descriptor in Path("/dev/fd").iterdir()}
    spare = [fd for fd in range(len(taken) + 21) if fd not in taken][:20]
    resource.setrlimit(resource.RLIMIT_NOFILE, (spare[-1] + 1, before[1]))
    try:
        result = run("inspect", "import", log, home=home)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert "40 connections, each a recording" in result.stderr
    assert imported(home / "a-40.db")[0].name == "a-40"


def test_each_connection_is_a_recording(tmp_path: Path, home: Path) -> None:
    """If a log has several `initialize` requests, `import` makes a recording of each connection."""
    conversation = [Sent(TO_AGENT, INITIALIZE), Sent(TO_CLIENT, ANSWER)]
    log = tmp_path / "a.log"
    log.write_text(WRITERS["arrows"].write([*conversation[1:], *conversation, *conversation]))
    result = run("inspect", "import", log, home=home)
    assert result.stdout.split() == [str(home / f"a{n}.db") for n in ("", "-2", "-3")]
    assert "3 connections, each a recording" in result.stderr
    recordings = [imported(home / f"a{n}.db") for n in ("", "-2", "-3")]
    assert [len(frames) for _, frames in recordings] == [1, 2, 2]
    assert [recording.name for recording, _ in recordings] == ["a", "a-2", "a-3"]
    output = ("--output", tmp_path / "b.db", "--name", "mine")
    assert run("inspect", "import", log, *output, home=home).exit_code == 0
    assert [imported(tmp_path / f"b{n}.db")[0].name for n in ("", "-2")] == ["mine", "mine-2"]
    starts = [recording.origin and "start" in recording.origin.lost for recording, _ in recordings]
    assert starts == [True, False, False]


@pytest.mark.parametrize("level", ["secrets", "private", "none"])
def test_secrets_are_masked(tmp_path: Path, home: Path, level: str) -> None:
    """`import` masks a secret that is split between two chunks of a message."""
    update = (
        '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{'
        '"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}'
    )
    pieces = [f"use {KEY}", f"or {KEY[:20]}", f"{KEY[20:]} then"]
    conversation = [Sent(TO_AGENT, INITIALIZE), Sent(TO_CLIENT, ANSWER)]
    conversation += [Sent(TO_CLIENT, (update % text).encode()) for text in pieces]
    log = tmp_path / "a.log"
    log.write_text(WRITERS["acpx"].write(conversation))
    assert run("inspect", "import", log, "--redact", level, home=home).exit_code == 0
    recording, frames = imported(home / "a.db")
    assert recording.redaction == level
    text = b"".join(raw for _, raw, _ in frames).decode()
    assert (KEY in text, KEY[20:] in text) == ((level == "none"),) * 2
    assert ("[redacted:" in text) == (level == "secrets")
    assert ("then" in text) == (level != "private")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[acpx] starting\n", "it is what acpx --verbose prints, which has no messages"),
        ('--> initialize (id=0) params={"prot\n', "it has messages shortened for people"),
        ("INFO  2025-11-03T04:26:01 +372ms service=default x\n", "it is a log of opencode"),
        ("Hello\n[acp::handle_rpc_message] Error: {\n", "it is a log of CodeCompanion"),
    ],
)
def test_logs_without_messages_are_refused(home: Path, text: str, expected: str) -> None:
    """If a log contains no messages, the error of `import` says what the log contains instead."""
    said = refused(text, "inspect", "import", "-", home=home)
    assert expected in said
    assert "; `acp-proxy record` makes a recording" in said


@pytest.mark.parametrize("name", ["acpx", "zed"])
@pytest.mark.parametrize("rest", ["", "\n```\n# And then it hung.\n"], ids=["end", "words"])
def test_a_last_message_that_is_cut_off_is_left_out(home: Path, name: str, rest: str) -> None:
    """If the last message of a log is incomplete, `import` keeps only the messages before it."""
    text = WRITERS[name].write(SENT[:3]).rstrip(']}\n "')[:-9]
    result = run_with(f"{text}{rest}".encode(), "inspect", "import", "-", "--name", "x", home=home)
    assert " with 2 messages; " in result.stderr
    assert ", 1 skipped; " in result.stderr or name == "zed"
    assert "; skipped line " in result.stderr
    recording, frames = imported(home / "x.db")
    assert len(frames) == 2
    assert recording.origin is not None
    assert recording.origin.skipped > 0
    assert "middle" not in recording.origin.lost
    told = " ".join(run("inspect", "import", "--help-all").stdout.split())
    assert "no database is made. An incomplete message at the end is left out." in told


def test_a_text_that_is_only_the_beginning_of_a_message_is_refused(home: Path) -> None:
    """`import` refuses a text that is only the beginning of a JSON-RPC message."""
    result = run_with(INITIALIZE[:-2], "inspect", "import", "-", "--from", "acpx", home=home)
    assert result.exit_code == 2
    assert ": expected a message, got one that is cut off" in result.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{&quot;jsonrpc&quot;:&quot;2.0&quot;}", "its quotation marks are HTML entities, such as"),
        ("> {\u201cjsonrpc\u201d: \u201c2.0\u201d}", "its quotation marks are typographic: `sed "),
        (
            '{"jsonrpc":"2.0",\u00a0"id":0,"method":"initialize"}',
            "it has non-breaking spaces: `sed ",
        ),
        ('{\u00a0"jsonrpc":"2.0", "id":0}', "it has non-breaking spaces: `sed "),
    ],
)
def test_what_is_in_the_way_is_named(home: Path, text: str, says: str) -> None:
    """If a log's JSON has typographic quotes or odd spaces, the error of `import` names them."""
    for before in ("", INITIALIZE.decode() + "\n"):
        data = f"{before}{text}\n".encode()
        result = run_with(data, "inspect", "import", "-", home=home)
        assert result.exit_code == 2 or (before and '{"' not in text)
        assert says in result.stderr or (before and '{"' not in text)


def test_a_log_on_standard_input_is_named_before_all_else(home: Path) -> None:
    """If `show -` reads another tool's log, it prints only an error that suggests `import -`."""
    result = run_with(b"OUT: " + INITIALIZE + b"\n", "show", "-", home=home)
    assert result.stderr == (
        "acp-proxy: cannot read standard input as a recording: it looks like a plain log:"
        " `acp-proxy import -` makes a recording of it\n"
    )


def test_a_log_is_recognized_by_its_beginning(home: Path) -> None:
    """`import` searches only the first 64 KiB of a long log for a known format, and says so."""
    text = "2026-01-02 03:04:05,000 INFO - a.Service - started {x: 1}\n" * 1_200
    late = f"{text}OUT: {INITIALIZE.decode()}\n"
    said = refused(late, "inspect", "import", "-", home=home)
    assert said.endswith("; only its first 64 KiB were searched: --from NAME reads the whole log")
    said = refused(text[:1000], "inspect", "import", "-", home=home)
    assert "none of its lines is an ACP message" in said
    assert "searched" not in said
    words = ("inspect", "import", "-", "--from", "lines", "--skip-bad")
    assert run_with(late.encode(), *words, home=home).exit_code == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_format_that_is_named_is_tried(home: Path, name: str) -> None:
    """If a log has no message in the format given by `import --from`, the error says so."""
    said = refused("hello\n", "inspect", "import", "-", "--from", name, home=home)
    # Some formats refuse a line that they do not know, and some search for their messages.
    assert "line 1: expected" in said or "none of its lines is a message of " in said
    text = WRITERS["zed" if name != "zed" else "jetbrains"].write(SENT[:2])
    if name == "jetbrains":
        said = refused(text, "inspect", "import", "-", "--from", name, home=home)
        assert said.endswith("; it looks like messages copied from the ACP logs of Zed: leave out "
                             "--from")  # fmt: skip


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("", (), "cannot read standard input as a recording: it is empty"),
        ("\n \n", (), "none of its lines is an ACP message"),
        ('{"a": 1}', (), "none of its lines is an ACP message"),
        ("{" * 3000, (), "none of its lines is an ACP message"),
        ("{ jsonrpc: '2.0', id: 1, result: [Object] }", (), "its messages have other text around"),
        ("(\xb5/\xfd", (), "it is compressed with zstd: `zstdcat FILE | acp-proxy import"),
        ("\x1f\x8b", (), "it is compressed with gzip: `zcat FILE | acp-proxy import -`"),
        ("%PDF-1.4", (), "it is a PDF; expected text"),
    ],
)  # fmt: skip
def test_empty_or_binary_data_are_refused(
    home: Path, text: str, arguments: tuple[str, ...], expected: str
) -> None:
    """`import` refuses empty or binary input; for compressed input, it says how to unpack it."""
    data = text.encode("latin-1")
    result = run_with(data, "inspect", "import", "-", *arguments, home=home)
    assert result.exit_code == 2
    assert expected in result.stderr


def test_other_commands_name_the_import(tmp_path: Path, home: Path) -> None:
    """If `show` gets the log of another tool, its error suggests `import`."""
    for name in ("a.log", "a.jsonl", "a.txt"):
        log = tmp_path / name
        log.write_text(WRITERS["jetbrains"].write(SENT[:3]))
        said = complaint("inspect", "show", log, home=home)
        assert said.endswith(" it looks like a transport log of a JetBrains IDE: "
                             f"`acp-proxy import {log}` makes a recording of it")  # fmt: skip


def test_a_database_of_another_tool_is_refused(tmp_path: Path, home: Path) -> None:
    """`import` refuses a database of acp-devtools."""
    path = tmp_path / "captures.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE sessions (id, agent_command, started_at)")
    said = complaint("inspect", "import", path, home=home)
    assert "expected the text form" in said
