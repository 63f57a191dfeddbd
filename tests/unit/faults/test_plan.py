"""Fault plans are read as a whole, or refused with the place and the reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acp_proxy.base.errors import BadPlan
from acp_proxy.explain.observed_faults import rules
from acp_proxy.faults.kinds.timing import LatencyFault
from acp_proxy.faults.plan import (
    KINDS,
    Plan,
    joined,
    load_plan,
    parse_rule,
    ready_plans,
    structure_plan,
)
from acp_proxy.faults.structuring import Trigger, Window, settings_of
from tests.support.fault_playbook import plan_of
from tests.support.log_writer import record_conversation


def refused(path: Path, text: str) -> str:
    """The error message of a refused plan, without the file's path."""
    path = path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadPlan) as refusal:
        load_plan(path)
    message = str(refusal.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_a_plan_is_read(tmp_path: Path) -> None:
    """A fault plan that is read from a file has the rules and the seed of the file."""
    (tmp_path / "p.toml").write_text("""
        about = "slow"
        seed = 42
        [[fault]]
        kind = "latency"
        where = "dir:to-client method:session/update"
        after = 3
        times = 1
        every = 2
        probability = 1
        window = ["2s", "1.5m"]
        latency_ms = 500
        jitter_ms = 100
        [[fault]]
        name = "gone"
        kind = "drop"
    """)
    plan = load_plan(tmp_path / "p.toml")
    first, second = plan.rules
    assert (plan.seed, plan.about) == (42, "slow")
    assert first.fault == LatencyFault(latency_ms=500.0, jitter_ms=100.0)
    assert first.trigger == Trigger(
        "dir:to-client method:session/update", 3, 2, 1, 1.0, Window(2 * 10**9, 90 * 10**9)
    )
    assert (first.name, second.name, second.kind) == ("latency", "gone", "drop")


def test_a_rule_of_the_command_line_equals_that_of_a_file() -> None:
    """A fault rule on the command line equals the same rule in a file."""
    rule = parse_rule(
        "latency latency_ms=500 where='dir:to-client method:x' after=3 times=1 window=1s..2s"
    )
    table = {
        "kind": "latency",
        "latency_ms": 500,
        "where": "dir:to-client method:x",
        "after": 3,
        "times": 1,
        "window": ["1s", "2s"],
    }
    (other,) = structure_plan({"fault": [table]}, "f").rules
    assert rule == other


def test_a_text_setting_takes_a_number_as_text() -> None:
    """The setting `text=5` of a fault rule on the command line is read as text, not as a number."""
    assert parse_rule("stray-stdout text=5").fault.text == "5"  # type: ignore[attr-defined]
    assert parse_rule("drop name=7").name == "7"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sed = 1", "unknown key 'sed'; did you mean seed?"),
        ("seed = 1.5", "seed: expected a whole number, got 1.5"),
        ("seed = true", "seed: expected a whole number, got True"),
        ("about = 1", "about: expected a text, got 1"),
        ("[fault]\nkind = 'drop'", "fault: expected tables that begin with [[fault]]"),
        ("fault = [1]", "fault: expected tables that begin with [[fault]]"),
        ("[[fault]]", "fault[0].kind: expected a kind of fault, got nothing"),
        ("[[fault]]\nkind = 5", "fault[0].kind: expected a kind of fault, got 5"),
        (
            "[[fault]]\nkind = 'drop'\n[[fault]]\nkind = 'latncy'",
            "fault[1].kind: there is no 'latncy'; did you mean latency?",
        ),
    ],
)
def test_a_wrong_plan_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """The error about an invalid fault plan says where the mistake is and what was expected."""
    assert refused(tmp_path, text) == message


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("'latency'\nlatency = 5",
         "latency: latency has no such setting; did you mean"
         " latency_ms?"),
        ("'latency'\nlatency_ms = '5'", "latency_ms: expected a number, got '5'"),
        ("'latency'\nlatency_ms = -5", "latency_ms: expected a number from 0 on, got -5"),
        ("'latency'\nlatency_ms = inf", "latency_ms: expected a number, got inf"),
        ("'slice'\nbytes = 2.5", "bytes: expected a whole number, got 2.5"),
        ("'truncate'\nnewline = 1", "newline: expected true or false, got 1"),
        ("'corrupt'\nmode = 'flipp'", "mode: there is no 'flipp'; did you mean flip?"),
        ("'replace'",
         "frame: expected 'frame' alone, or 'set' or 'change'; got none of them"),
        ('"replace"\nframe = "a\\nb"', "frame: expected one line, got 'a\\nb'"),
        ("'replace'\nset = { a = 1 }",
         "set: expected a JSON pointer such as /params/sessionId, got"
         " 'a'"),
        ("'replace'\nset = 1", "set: expected a table, got 1"),
        ("'drop'\nwhere = 5", "where: expected a text, got 5"),
        ("'drop'\nprobability = 1.5", "probability: expected a number from 0 to 1, got 1.5"),
        ("'drop'\nafter = -1", "after: expected a number from 0 on, got -1"),
        ("'drop'\nevery = 0", "every: expected a number from 1 on, got 0"),
        ("'drop'\ntimes = 0", "times: expected a number from 1 on, got 0"),
        ("'drop'\ntimes = true", "times: expected a whole number, got True"),
        ("'drop'\nwindow = ['5s', '2s']",
         "window: expected an end after the beginning, got ['5s',"
         " '2s']"),
        ("'drop'\nwindow = ['-1s', '2s']",
         "window: expected a time such as 2s or 500ms, got"
         " '-1s'"),
        ("'drop'\nwindow = '2s'",
         'window: expected a beginning and an end, such as ["2s", "10s"], got'
         " '2s'"),
        ("'reply'\nmode = 'double'\nafter_cancel = true",
         "after_cancel: needs the mode 'late', not 'double'"),
        ("'drop'\nname = ''", "name: expected a name, got ''"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_refused(tmp_path: Path, kind: str, message: str) -> None:
    """The error about a wrong setting of a fault names the setting and what was expected."""
    assert refused(tmp_path, f"[[fault]]\nkind = {kind}") == f"fault[0].{message}"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("mehtod:x", "bad filter at column 1: unknown key 'mehtod'; did you mean method?"),
        ("dir:to-clent",
         "bad filter at column 5: 'to-clent' is not a direction: expected to-agent,"
         " to-client; did you mean to-client?"),
        ("kind:request latency:>2s",
         "'latency' cannot be used in a plan: an answer's latency is not"
         " known yet when a rule is applied"),
        ("seq:3",
         "'seq' cannot be used in a plan: a frame's number is not"
         " known yet when a rule is applied"),
        ("not fault:any",
         "'fault' cannot be used in a plan: a fault is not"
         " known yet when a rule is applied"),
        ("is:unanswered",
         "'is' cannot be used in a plan: what becomes of a frame is not"
         " known yet when a rule is applied"),
        ("turn:last",
         "bad filter at column 6: 'last' works only with a single recording; expected a"
         " number"),
    ],
)  # fmt: skip
def test_a_wrong_filter_is_refused(tmp_path: Path, where: str, message: str) -> None:
    """If the filter of a fault rule is invalid, such as `seq:3`, the error says why."""
    text = f"[[fault]]\nkind = 'drop'\nwhere = '{where}'"
    assert refused(tmp_path, text) == f"fault[0].where: {message}"


def test_an_escape_in_a_literal_text_ends_no_line(tmp_path: Path) -> None:
    r"""In a fault plan, `\n` within a literal TOML string is not a line end."""
    (tmp_path / "p.toml").write_text("[[fault]]\nkind = 'replace'\nframe = 'a\\nb'")
    assert load_plan(tmp_path / "p.toml").rules


def test_invalid_toml_is_refused(tmp_path: Path) -> None:
    """If a fault plan is invalid TOML, the error names the position."""
    assert refused(tmp_path, "[[fault]\n").startswith("not TOML: ")
    assert "line 1" in refused(tmp_path, "[[fault]\n")


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    """A file that is not UTF-8 is refused as a fault plan."""
    with pytest.raises(BadPlan, match=r"cannot read .*none\.toml: no such file or directory$"):
        load_plan(tmp_path / "none.toml")
    with pytest.raises(BadPlan, match="is a directory"):
        load_plan(tmp_path)
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadPlan, match="not TOML"):
        load_plan(tmp_path / "b.toml")


def test_a_recording_in_place_of_a_plan_is_refused(tmp_path: Path) -> None:
    """If a recording is given as fault plan, the error says that `-` stands for no plan."""
    record_conversation(tmp_path / "x.db")
    with pytest.raises(BadPlan, match="expected a plan, got a recording; for --fault alone, write"):
        load_plan(tmp_path / "x.db")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a kind, such as latency"),
        ("drop 'x", "no closing quotation"),
        ("drop times", "expected name=value, got 'times'"),
        ("drop times=1 times=2", "times: it is given twice"),
        ("drop where=x", "where: bad filter at column 1: expected key:value or"
         " params.path=value, got 'x'; text:x matches frames with this text"),
        ("dorp", "kind: there is no 'dorp'; did you mean drop?"),
    ],
)  # fmt: skip
def test_a_wrong_rule_is_refused(text: str, message: str) -> None:
    """The error about a wrong fault rule on the command line quotes the rule."""
    with pytest.raises(BadPlan) as refusal:
        parse_rule(text)
    assert str(refusal.value) == f"--fault {text!r}: {message}"


def test_a_rule_has_to_be_utf_8() -> None:
    """A fault rule on the command line that is not UTF-8 is refused."""
    with pytest.raises(BadPlan, match=r"expected UTF-8$"):
        parse_rule("noop where=method:\udcff")


def test_ready_plans_go_by_their_names() -> None:
    """The error about an unknown ready fault plan suggests a similar name."""
    assert load_plan("@hung-permission").rules[0].kind == "drop"
    with pytest.raises(BadPlan, match="no ready plan @hung-permision; did you mean hung-perm"):
        load_plan("@hung-permision")
    with pytest.raises(BadPlan, match="did you mean @hung-permission"):
        load_plan("hung-permission")
    assert len(ready_plans()) >= 20


# Names, keys and seeds


def test_an_unnamed_rule_has_the_name_of_its_kind() -> None:
    """A fault rule without a name is named after its kind."""
    names = [rule.name for rule in plan_of("drop", "latency", "drop times=1").rules]
    assert names[1] == "latency"
    assert len(set(names)) == 3
    assert all(name.startswith("drop-") for name in (names[0], names[2]))


def test_names_and_keys_do_not_depend_on_the_order() -> None:
    """The names and random numbers of fault rules do not depend on their order in the plan."""
    rules = ["drop", "drop times=1", "drop times=2", "latency"]
    forth = {rule.trigger: (rule.name, rule.key) for rule in plan_of(*rules[:3]).rules}
    back = {rule.trigger: (rule.name, rule.key) for rule in plan_of(*reversed(rules[:3])).rules}
    assert forth == back


def test_a_rule_that_is_added_moves_no_key() -> None:
    """A new rule in a fault plan does not change the random numbers of the other rules."""
    (alone,) = plan_of("drop probability=0.5").rules
    more = plan_of("drop", "latency", "drop probability=0.5", "drop times=2").rules
    assert alone.key in [rule.key for rule in more]
    assert len({rule.key for rule in more}) == 4


def test_equal_rules_have_different_names() -> None:
    """Two equal rules of a fault plan get different names and different random numbers."""
    first, second = plan_of("drop", "drop").rules
    assert first.name != second.name
    assert first.key != second.key


def test_two_rules_with_one_name_are_refused(tmp_path: Path) -> None:
    """A fault plan with two rules of one name is refused, and the error quotes the name."""
    text = "[[fault]]\nkind = 'drop'\nname = 'x'\n[[fault]]\nkind = 'noop'\nname = 'x'\n"
    message = refused(tmp_path, text)
    assert message.startswith("fault[1]: name: 'x' is also the name of ")
    with pytest.raises(BadPlan, match="expected another name"):
        plan_of("drop name=x", "noop name=x")


def test_a_name_wins_over_a_kind() -> None:
    """If a fault rule is named `drop`, an unnamed rule of the kind `drop` gets another name."""
    named, unnamed = plan_of("noop name=drop", "drop").rules
    assert named.name == "drop"
    assert unnamed.name.startswith("drop-")


def test_two_seeds_are_refused() -> None:
    """If fault plans and `--seed` have different seeds, the error names both seeds."""
    assert joined([Plan(seed=1)], [], 1).seed == 1
    assert joined([], [], None).seed is None
    with pytest.raises(BadPlan, match="two seeds are given: 2 and 1; expected one"):
        joined([Plan(seed=1)], [], 2)
    with pytest.raises(BadPlan, match="two seeds are given: 1 and 3; expected one"):
        joined([Plan(seed=1), Plan(seed=3)], [], None)


def test_no_setting_has_the_name_of_a_trigger() -> None:
    """No setting of a kind of fault has the name of a trigger, such as `after`."""
    reserved = {"kind", "name", *settings_of(Trigger)}
    for kind in KINDS.values():
        assert not reserved & set(settings_of(kind)), kind


def test_every_kind_and_setting_explains_itself() -> None:
    """Every kind of fault and every setting has a sentence for `faults list`."""
    from acp_proxy.faults.manual import manual_of, trigger_manual

    for kind in KINDS.values():
        manual = manual_of(kind)
        assert manual.about.endswith(".")
        assert all(setting.about.endswith(".") for setting in manual.settings), kind
    assert all(setting.about.endswith(".") for setting in trigger_manual())


# Plans that anybody may have written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = " + "[" * 100_000, "nested too deeply"),
        ("x = " + "{a=" * 10_000, "nested too deeply"),
        ("seed = " + "9" * 5000, "not TOML: exceeds the limit (4300 digits) for integer string"),
        ("seed = " + "9" * 4000, "seed: expected a whole number of 64 bits, got 999"),
        (".".join("a" * 50_000) + " = 1", "expected at most 50 words joined by dots"),
        (" . ".join(['"a b"'] * 50_000) + " = 1", "expected at most 50 words joined by dots"),
        ("[" + ".".join("a" * 51) + "]", "expected at most 50 words joined by dots"),
        ("#" * 1_000_001, "larger than 1,000,000 bytes"),
        ("[[fault]]\nkind = 'latency'\nlatency_ms = " + "9" * 4000, "fault[0].latency_ms: "),
    ],
    ids=lambda text: text[:12],
)
def test_a_plan_has_bounds(tmp_path: Path, text: str, message: str) -> None:
    """A fault plan above a limit, such as 1 MB or deep nesting, is refused in one line."""
    assert refused(tmp_path, text).startswith(message)


def test_a_rule_of_the_command_line_has_the_same_bounds() -> None:
    """If `--fault` has a number of 5000 digits or deep nesting, the error names the setting."""
    for value in ("9" * 5000, "[" * 100_000, ".".join("a" * 50_000)):
        with pytest.raises(BadPlan, match="latency_ms: expected a number"):
            parse_rule(f"latency latency_ms={value}")


def test_only_a_plain_file_is_a_plan(tmp_path: Path) -> None:
    """A device or a pipe in place of a fault plan is refused, and is not opened."""
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((Path("/dev/zero"), "a device"), (tmp_path / "pipe", "a pipe")):
        with pytest.raises(BadPlan, match=f"^cannot read {path}: it is {kind}$"):
            load_plan(path)


def test_a_plan_in_a_recording_has_limits() -> None:
    """`show` ignores the fault plan of a recording if it is too large or too deeply nested."""
    for text in (".".join("a" * 50_000) + " = 1", "x = " + "[" * 100_000, "#" * 1_000_001):
        assert rules(text) == []
    assert rules("[[fault]]\nkind = 'noop'") == ["noop"]
