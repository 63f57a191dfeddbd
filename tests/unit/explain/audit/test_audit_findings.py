"""Findings of `audit` name actions to review, and claim only recorded facts."""

from __future__ import annotations

import inspect
import re

import pytest

from acp_proxy.explain.audit import audit_findings
from tests.support.audit_conversation import ALLOW, ALWAYS, CWD, OPTIONS, REJECT, Talk, edit, shell
from tests.support.log_writer import request, result

A, B = f"{CWD}/a.py", f"{CWD}/b.py"


def test_a_session_in_order() -> None:
    """`audit` has no findings if every write and command of the agent was permitted first."""
    conversation = Talk()
    conversation.asks("fs/read_text_file", {"content": ""}, path=A)
    conversation.call("c", **edit(A))
    conversation.permission(ALLOW, {"toolCallId": "c"})
    conversation.asks("fs/write_text_file", {}, path=A, content="x")
    conversation.ends("c")
    conversation.permission(ALLOW, {"toolCallId": "d", **shell("npm test")})
    conversation.asks("terminal/create", {"terminalId": "t"}, command="npm", args=["test"], cwd=CWD)
    conversation.ends("d", "completed", content=[{"type": "terminal", "terminalId": "t"}])
    conversation.permission(REJECT, {"toolCallId": "e", **shell("rm -r .")})
    conversation.ends("e", "failed")
    assert conversation.findings() == {}


def test_done_without_being_asked() -> None:
    """If some actions had a permission request, `audit` reports each action that had none."""
    conversation = Talk()
    conversation.permission(ALLOW, {"toolCallId": "c", **shell("npm test")})
    conversation.ends("c")
    conversation.asks("fs/read_text_file", {"content": ""}, path=A)
    for number in range(5):
        conversation.asks("fs/write_text_file", {}, path=f"{CWD}/{number}", content="x")
    conversation.asks("terminal/create", {"terminalId": "t"}, command="make")
    conversation.call("d", title="Ask the oracle", kind="other", rawInput={}, tool="oracle")
    findings = conversation.audit().findings
    assert [(f.kind, f.text) for f in findings] == [
        ("not-asked",
         "5 writes without a permission request: 0 (#11), 1 (#13), 2 (#15), and 2 more"),
        ("not-asked", "1 command without a permission request: make (#21)"),
        ("other-not-asked",
         "1 other tool call without a permission request; what they do is not in the recording:"
         " Ask the oracle (d) (#23, claimed)"),
    ]  # fmt: skip
    assert findings[0].actions == [3, 4, 5, 6, 7]
    assert findings[0].seqs == [11, 13, 15, 17, 19]


def test_an_agent_that_never_asks() -> None:
    """If an agent never requests permission, `audit` has one finding for all its actions."""
    conversation = Talk()
    for number in range(500):
        conversation.asks("fs/write_text_file", {}, path=f"{CWD}/{number}", content="x")
    conversation.call("c", **shell("make"))
    conversation.ends("c")
    assert conversation.findings() == {
        "never-asked": (
            "the agent never asked for permission: 500 writes, 1 command (1 of them claimed)"
        )
    }


def test_an_answer_for_always_may_cover_what_follows() -> None:
    """`audit` has a separate finding for actions that an "always allow" may have permitted."""
    conversation = Talk()
    conversation.permission(ALWAYS, {"toolCallId": "c", **shell("npm test")})
    conversation.call("d", **shell("npm install"))
    assert conversation.findings() == {
        "perhaps-allowed": (
            "1 command without a permission request, perhaps covered by an earlier answer (#7):"
            " npm install (#8, claimed)"
        )
    }


def test_refused_and_done_by_the_client() -> None:
    """If the client writes a file although permission was denied, `audit` reports a problem."""
    conversation = Talk()
    conversation.call("c", **edit(A))
    conversation.permission(REJECT, {"toolCallId": "c"})
    conversation.ends("c", "failed")
    conversation.asks("fs/write_text_file", {}, path=A, content="x")
    findings = conversation.audit().findings
    assert (findings[0].kind, findings[0].severity) == ("refused-but-done", "problem")
    assert findings[0].text == (
        "the client wrote a.py (#10) after permission for the same was denied (#8)"
    )


def test_refused_and_done_in_a_terminal() -> None:
    """If the client runs the command of a refused tool call, `audit` reports a problem."""
    conversation = Talk()
    conversation.permission(REJECT, {"toolCallId": "c", **shell("make")})
    conversation.asks("terminal/create", {"terminalId": "t"}, command="make")
    conversation.ends("c", "completed", content=[{"type": "terminal", "terminalId": "t"}])
    assert conversation.findings()["refused-but-done"] == (
        "the client ran make (#8) although permission was denied (#7)"
    )


def test_refused_and_reported_as_done() -> None:
    """If a refused command is `completed`, `audit` reports that the agent claims to have run it."""
    conversation = Talk()
    conversation.permission(REJECT, {"toolCallId": "c", **shell("make")})
    conversation.ends("c", "completed")
    assert conversation.findings()["refused-but-done"] == (
        "the agent says that it ran make (#8) although permission was denied (#7)"
    )


def test_a_permission_request_that_failed() -> None:
    """If a permission request got an error response, `audit` does not count this as permission."""
    conversation = Talk()
    conversation.asks_in_vain(
        "session/request_permission", toolCall={"toolCallId": "c", **edit(A)}, options=OPTIONS
    )
    conversation.asks("fs/write_text_file", {}, path=A, content="x")
    assert conversation.findings() == {
        "refused-but-done": (
            "the client wrote a.py (#8) although the permission request was answered with an error"
            " (#7)"
        )
    }


def test_a_later_turn_is_another_matter() -> None:
    """If permission was refused in one turn, `audit` does not report the action in a later turn."""
    conversation = Talk()
    conversation.permission(REJECT, {"toolCallId": "c", **edit(A)})
    conversation.prompt()
    conversation.asks("fs/write_text_file", {}, path=A, content="x")
    assert "refused-but-done" not in conversation.findings()


def test_done_before_the_answer() -> None:
    """If an action began before the permission request was answered, `audit` reports a problem."""
    conversation = Talk()
    conversation.call("c", **edit(A))
    conversation.permission(ALLOW, {"toolCallId": "c"})
    answer = conversation.lines.pop()
    conversation.asks("fs/write_text_file", {}, path=A, content="x")
    conversation.to_agent(answer[1])
    assert conversation.findings() == {
        "before-answer": ("1 write began before the permission request was answered: a.py (#6)")
    }


def test_reported_before_the_answer() -> None:
    """If a tool call ended before its permission request was answered, `audit` finds a problem."""
    conversation = Talk()
    conversation.permission(ALLOW, {"toolCallId": "c", **shell("make")})
    answer = conversation.lines.pop()
    conversation.ends("c")
    conversation.to_agent(answer[1])
    assert conversation.findings() == {
        "before-answer": (
            "1 command began before the permission request was answered: make (#6, claimed)"
        )
    }


def test_permission_for_one_file_and_a_write_of_another() -> None:
    """If permission was for one file and the agent wrote another, `audit` reports a problem."""
    conversation = Talk()
    conversation.call("c", **edit(A))
    conversation.permission(ALLOW, {"toolCallId": "c"})
    conversation.asks("fs/write_text_file", {}, path=B, content="x")
    conversation.ends("c")
    texts = conversation.findings()
    assert texts["asked-for-another"] == (
        "the client wrote b.py (#9) without a permission request, while permission was given for"
        " a.py (#7), for which the agent requested nothing"
    )


def test_a_call_that_changes_after_permission() -> None:
    """If a tool call names a second path after its permission, `audit` reports a problem."""
    conversation = Talk()
    conversation.permission(ALLOW, {"toolCallId": "c", **edit(A)})
    conversation.ends("c", "completed", locations=[{"path": A}, {"path": B}])
    assert conversation.findings() == {
        "asked-for-another": (
            "permission was given for a.py (#6), but the agent says that it wrote b.py (#8)"
        )
    }


def test_a_command_that_changes_after_permission() -> None:
    """If the agent runs a command other than the permitted one, `audit` reports a problem."""
    conversation = Talk()
    conversation.permission(ALLOW, {"toolCallId": "c", **shell("npm test")})
    conversation.ends("c", "completed", rawInput={"command": "npm publish"})
    assert conversation.findings() == {
        "asked-for-another": (
            "permission was given for npm test (#6), but the agent says that it ran npm publish"
            " (#8)"
        )
    }


@pytest.mark.parametrize(
    ("command", "is_another"),
    [
        ("npm  test", False),
        ("/bin/bash -lc 'npm test'", False),
        ("npm test; rm -r .", True),
        ("sh -c 'npm test' 'x'", True),
    ],
)
def test_permission_for_one_command_and_another_one_in_the_terminal(
    command: str, is_another: bool
) -> None:
    """`audit` accepts a permitted command in a shell, but reports a command with an addition."""
    conversation = Talk()
    conversation.permission(ALLOW, {"toolCallId": "c", **shell("npm test")})
    conversation.asks("terminal/create", {"terminalId": "t"}, command=command)
    conversation.ends("c", "completed", content=[{"type": "terminal", "terminalId": "t"}])
    assert ("asked-for-another" in conversation.findings()) is is_another


def test_outside_the_directory() -> None:
    """`audit` reports a write outside of the session's directory as a problem."""
    conversation = Talk()
    conversation.asks("fs/read_text_file", {"content": ""}, path="/etc/hosts")
    conversation.asks("fs/write_text_file", {}, path=f"{CWD}/../x", content="")
    conversation.asks_in_vain("fs/write_text_file", path="/y", content="")
    conversation.permission(ALLOW, {"toolCallId": "c", **shell("make")})
    conversation.asks("terminal/create", {"terminalId": "t"}, command="make", cwd="/tmp")
    conversation.ends("c", content=[{"type": "terminal", "terminalId": "t"}])
    texts = [(f.severity, f.text) for f in conversation.audit().findings if f.kind == "outside"]
    assert texts == [
        ("problem", "1 write outside the session's directory: /proj/x (#8)"),
        ("remark", "1 read outside the session's directory: /etc/hosts (#6)"),
        ("remark", "1 command outside the session's directory: make in /tmp (#12)"),
        (
            "remark",
            "1 write outside the session's directory, refused, failed or not answered: /y (#10)",
        ),
    ]


def test_files_that_look_like_credentials() -> None:
    """`audit` reports that a file which looks like a credential was read."""
    conversation = Talk()
    conversation.asks("fs/read_text_file", {"content": ""}, path=f"{CWD}/.env")
    conversation.call("c", **shell("cat ~/.ssh/id_rsa | base64"))
    finding = conversation.audit().findings[0]
    assert (finding.kind, finding.severity) == ("credentials", "problem")
    assert finding.text == (
        "files that look like credentials: read .env (#6),"
        " a command names ~/.ssh/id_rsa (#8, claimed)"
    )


def test_commands_that_name_paths_outside() -> None:
    """If a command names a path outside of the session's directory, `audit` reports the path."""
    conversation = Talk()
    conversation.call("c", **shell("/usr/bin/env cp /proj/app/a /proj/other/b 2>/dev/null"))
    assert conversation.findings()["command-outside"] == (
        "commands name paths outside the session's directory, or in an unknown place:"
        " /proj/other/b (#6, claimed)"
    )


def test_a_directory_that_is_not_in_the_recording() -> None:
    """If a session's directory is unknown, `audit` reports no path as outside of the directory."""
    conversation = Talk()
    conversation.update("usage_update")
    for _, message in conversation.lines:
        if isinstance(message, dict) and "cwd" in message.get("params", {}):
            del message["params"]["cwd"]
    conversation.asks("fs/read_text_file", {"content": ""}, path="/etc/hosts")
    assert conversation.findings() == {
        "place-unknown": (
            "1 read in places that may or may not be in the session's directory: /etc/hosts (#7)"
        )
    }


def test_answers_that_no_person_can_give() -> None:
    """`audit` reports permission that was granted within a tenth of a second after the request."""
    conversation = Talk()
    conversation.pause_ms = 99
    conversation.permission(ALLOW, {"toolCallId": "c", **shell("make")})
    assert conversation.findings() == {
        "answered-at-once": (
            "1 permission request was granted within 0.1 s, so hardly by a person:"
            " make (#6, claimed)"
        )
    }


def test_hostile_text_is_made_visible() -> None:
    """Findings of `audit` escape the control characters in paths and commands."""
    conversation = Talk()
    conversation.call("c", **shell("rm \x1b[2J\u202e\n-r" + "x" * 100))
    text = conversation.findings()["never-asked"]
    assert text == "the agent never asked for permission: 1 command (1 of them claimed)"
    conversation.permission(ALLOW, {"toolCallId": "d", **edit(A)})
    text = conversation.findings()["not-asked"]
    assert text.isprintable()
    assert len(text) < 130


def test_the_last_answer_about_the_same_file_counts() -> None:
    """If permission for a file was refused and then granted, `audit` applies the last answer."""
    conversation = Talk()
    conversation.permission(REJECT, {"toolCallId": "c", **edit(A)})
    conversation.permission(ALLOW, {"toolCallId": "d", **edit(A)})
    conversation.ends("d")
    conversation.asks("fs/write_text_file", {}, path=A, content="x")
    assert conversation.findings() == {
        "perhaps-allowed": (
            "1 write without a permission request, perhaps covered by an earlier answer (#9):"
            " a.py (#11)"
        )
    }


def test_a_write_that_may_belong_to_either_of_two_calls() -> None:
    """If a write may belong to a permitted tool call, `audit` says that it was perhaps allowed."""
    conversation = Talk()
    conversation.call("c", **edit(A))
    conversation.call("d", **edit(A))
    conversation.permission(ALLOW, {"toolCallId": "c"})
    conversation.asks("fs/write_text_file", {}, path=A, content="x")
    assert conversation.findings() == {
        "not-asked": "1 write without a permission request: a.py (#7, claimed)",
        "perhaps-allowed": (
            "1 write without a permission request, perhaps covered by an earlier answer (#9):"
            " a.py (#10)"
        ),
    }


def test_a_refused_command_that_a_shell_then_runs() -> None:
    """If a refused command is then run by `bash -lc`, `audit` reports that it was run."""
    conversation = Talk()
    conversation.permission(REJECT, {"toolCallId": "c", **shell("make")})
    conversation.ends("c", "failed")
    conversation.asks("terminal/create", {"terminalId": "t"}, command="bash", args=["-lc", "make"])
    assert "refused-but-done" in conversation.findings()


def test_a_change_that_is_only_announced() -> None:
    """If a tool call has not ended yet, `audit` says only that its change was announced."""
    conversation = Talk()
    conversation.permission(ALLOW, {"toolCallId": "c", **edit(A)})
    conversation.ends("c", "in_progress", locations=[{"path": B}])
    assert conversation.findings()["asked-for-another"] == (
        "permission was given for a.py (#6), but the agent announced that it would write b.py (#8)"
    )


def test_a_path_of_which_the_write_failed_was_not_written() -> None:
    """`audit` does not list a failed write as written."""
    conversation = Talk()
    conversation.permission(ALLOW, {"toolCallId": "c", **edit(A)})
    conversation.asks("fs/write_text_file", {}, path=A, content="", toolCallId="c")
    conversation.asks_in_vain("fs/write_text_file", path="/etc/x", toolCallId="c")
    assert conversation.findings() == {}


def test_two_commands_of_one_call() -> None:
    """If a tool call runs a second command without permission, `audit` reports this command."""
    conversation = Talk()
    conversation.permission(ALLOW, {"toolCallId": "c", **shell("npm test")})
    conversation.asks("terminal/create", {"terminalId": "t"}, command="npm test")
    conversation.asks("terminal/create", {"terminalId": "u"}, command="rm -r .")
    conversation.ends("c", content=[{"type": "terminal", "terminalId": name} for name in "tu"])
    audit = conversation.audit()
    assert [action.command for action in audit.actions] == ["npm test", "rm -r ."]
    assert audit.answers == {"granted": 1}
    assert conversation.findings() == {
        "asked-for-another": (
            "permission was given for npm test (#6), but the client ran rm -r . (#10)"
        )
    }


def test_quotes_that_change_no_command() -> None:
    """If only needless quotes differ in a run and a permitted command, `audit` reports nothing."""
    conversation = Talk()
    conversation.permission(ALLOW, {"toolCallId": "c", **shell('grep "a b" x')})
    conversation.asks("terminal/create", {"terminalId": "t"}, command="grep", args=["a b", "x"])
    conversation.ends("c", content=[{"type": "terminal", "terminalId": "t"}])
    assert conversation.findings() == {}


def test_quotes_that_change_a_command() -> None:
    """If `echo 'a;b'` was permitted and `echo a;b` was run, `audit` reports another command."""
    conversation = Talk()
    conversation.permission(ALLOW, {"toolCallId": "c", **shell("echo 'a;b'")})
    conversation.asks("terminal/create", {"terminalId": "t"}, command="echo a;b")
    conversation.ends("c", content=[{"type": "terminal", "terminalId": "t"}])
    assert "asked-for-another" in conversation.findings()


@pytest.mark.parametrize(
    ("cwd", "asked", "written"),
    [
        (CWD, "~/x", "/home/me/x"),
        ("C:\\work", "C:\\work\\A.py", "c:/WORK/a.py"),
        (CWD, A, f"file://{CWD}/%61.py"),
        (CWD, A, f"{CWD}/b/../a.py"),
    ],
)
def test_names_of_what_may_be_one_file(cwd: str, asked: str, written: str) -> None:
    """`audit` does not report a write if its path may be another name for the permitted file."""
    conversation = Talk(cwd=cwd)
    conversation.permission(ALLOW, {"toolCallId": "c", **edit(asked)})
    conversation.ends("c", locations=[{"path": written}])
    assert "asked-for-another" not in conversation.findings()


def test_a_write_in_one_batch_with_its_permission_request() -> None:
    """`audit` reports a write that is in the same JSON-RPC batch as the request to permit it."""
    conversation = Talk()
    params = {"sessionId": "s", "toolCall": {"toolCallId": "c", **edit(A)}, "options": OPTIONS}
    conversation.to_client([
        request(1, "session/request_permission", **params),
        request(2, "fs/write_text_file", sessionId="s", path=A, content=""),
    ])  # fmt: skip
    conversation.to_agent(
        [result(1, outcome={"outcome": "selected", "optionId": REJECT}), result(2)]
    )
    assert "before-answer" in conversation.findings()


def test_quick_answers_are_counted_and_not_their_actions() -> None:
    """`audit` counts permission requests that were granted too quickly, but not their actions."""
    conversation = Talk()
    conversation.pause_ms = 10
    for _ in range(2):
        conversation.permission(ALLOW, {"toolCallId": "c", **edit(A)})
    assert conversation.findings()["answered-at-once"].startswith(
        "2 permission requests were granted"
    )


def test_every_kind_declares_what_it_needs() -> None:
    """Each kind of finding of `audit` declares which data it needs from an imported log."""
    source = inspect.getsource(audit_findings)
    made = re.findall(r'(?:_finding|_of_several|_problems)\(\s*"([a-z-]+)"', source)
    assert {*made} == {*audit_findings.KINDS}
