"""The catalogue of rules lists the rules, and names those that an import cannot check."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest

from acp_proxy.base.errors import NoSuchRule
from acp_proxy.check.catalogue import (
    address_of,
    chosen_rules,
    looked_at,
    names,
    rules,
    unchecked_rules,
)
from acp_proxy.check.check_report import reported
from acp_proxy.check.check_values import HOUSE
from acp_proxy.check.checker import Checker
from acp_proxy.check.examples import examples
from acp_proxy.check.judgement import check_whole
from acp_proxy.explain.findings import CONVERSATION, Severity
from acp_proxy.explain.show.unanswered import UNANSWERED
from acp_proxy.protocol.dialects import V1
from acp_proxy.recording.recording import Fact, Origin
from acp_proxy.store.reader import RecordingReader
from tests.support.example_checker import before, text_form_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acp_proxy.check.check_values import ConformanceResult
    from acp_proxy.check.examples import Example
    from acp_proxy.explain.findings import Finding

GROUPS = sorted({rule.group for rule in rules().values()})
DATA = Path(__file__).parents[2] / "data"
_CUTS = ("start", "middle", "ending", "all")


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("documentation: Tool Calls/Updating", "/protocol/v1/tool-calls"),
        ("documentation: Initialization page", "/protocol/v1/initialization"),
        ("documentation today: v2 prompt lifecycle", "/protocol/v2/prompt-lifecycle"),
        ("documentation today: MCP-over-ACP RFD", "/rfds/mcp-over-acp"),
    ],
)
def test_a_place_in_the_documentation_has_its_page(source: str, address: str) -> None:
    """The link of a rule of `check` leads to the ACP documentation page that its source names."""
    assert address_of(source) == f"https://agentclientprotocol.com{address}"


def test_every_source_of_a_rule_has_its_place() -> None:
    """Each rule of `check` names its source: a web page, a place in the 1.0 draft, or acp-proxy."""
    for rule in rules().values():
        assert rule.source, rule.id
        assert HOUSE not in rule.source or rule.source == (HOUSE,), rule.id
        for source in rule.source:
            assert address_of(source) or source.startswith("1.0 draft, ") or source == HOUSE, source


def test_a_specification_has_its_own_site() -> None:
    """If a rule of `check` comes from JSON-RPC, its link leads to the JSON-RPC specification."""
    assert address_of("JSON-RPC 2.0") == "https://www.jsonrpc.org/specification"
    assert address_of("JSON") == "https://www.rfc-editor.org/rfc/rfc8259"


def test_a_group_is_all_of_its_rules() -> None:
    """`check --rule` with the name of a group selects all rules of the group."""
    every = {name for name in rules() if name.startswith("rpc.")}
    assert chosen_rules(["rpc"], []) == chosen_rules(["rpc.*"], []) == every
    assert chosen_rules([], []) == {*rules()} - {"tool.no-progress"}


def test_a_rule_that_many_break_is_chosen_by_its_own_name_only() -> None:
    """A rule of `check` that many agents break is selected only by its own name, not by group."""
    assert "tool.no-progress" not in chosen_rules(["tool"], [])
    assert chosen_rules(["tool.no-progress"], []) == {"tool.no-progress"}


def test_what_is_ignored_is_not_chosen() -> None:
    """`check --rule rpc --ignore-rule rpc.unanswered` applies the group `rpc` without this rule."""
    chosen = chosen_rules(["rpc", "init.first"], ["rpc.unanswered", "init"])
    assert "rpc.id-reused" in chosen
    assert not chosen & {"rpc.unanswered", "init.first"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rpc.unansered", "no rule is named 'rpc.unansered'; did you mean rpc.unanswered?"),
        ("sesion", "no rule is named 'sesion'; did you mean session?"),
        ("", "no rule is named ''; expected a rule, or a group: frame, rpc, "),
        (
            "secret.leaked",
            "rule secret.leaked is not checked: no specification forbids showing secrets",
        ),
    ],
)
def test_a_name_that_no_rule_has_is_an_error(name: str, said: str) -> None:
    """The error about an unknown rule of `check` suggests a similar name."""
    with pytest.raises(NoSuchRule) as raised:
        chosen_rules([name], [])
    assert str(raised.value).startswith(said)


def test_a_rule_is_looked_at_in_its_dialects() -> None:
    """`check` applies a rule only to recordings of the rule's dialects."""
    chosen = chosen_rules(["rpc", "s4"], [])
    assert not [name for name in looked_at(chosen, "v1") if name.startswith("s4.")]
    assert looked_at(chosen, "v1") == looked_at(chosen, None)


def test_names_begin_with_the_groups() -> None:
    """The completion of `check --rule` offers groups, such as `rpc`, before single rules."""
    assert names()[:2] == ["frame", "rpc"]
    assert len(names()) == len({*names()})


def test_every_rule_declares_what_it_needs() -> None:
    """Each rule of `check` about messages declares which data it needs from an imported log."""
    words = {*get_args(Fact), "texts"} - {"parts"}
    for rule in rules().values():
        assert (rule.lost_if is None) is (rule.group in CONVERSATION), rule.id
        assert words.issuperset(rule.lost_if or ()), rule.id


@pytest.mark.parametrize("group", GROUPS)
def test_missing_lines_are_nobodys_fault(group: str) -> None:
    """If an imported log lacks lines of a correct conversation, `check` still finds no error."""
    healthy = (example for example in examples(group) if not example.is_broken)
    for cut, example in zip(itertools.cycle(_CUTS), healthy):
        _judge_parts(example, [cut], every=False)


@pytest.mark.soak
@pytest.mark.parametrize("cut", _CUTS)
def test_no_missing_line_is_a_fault(cut: str) -> None:
    """Each finding of `check` in an incomplete log is also a finding in the complete log."""
    for group in GROUPS:
        for example in examples(group):
            if group not in CONVERSATION or not example.is_broken:
                _judge_parts(example, [cut], every=True)


def test_rules_are_named_once_with_the_first_reason() -> None:
    """If an import lost several kinds of data, `check` lists each skipped rule with one reason."""
    assert unchecked_rules(None) == []

    result = unchecked_rules(Origin("lines", ("ending", "middle", "start"), inferred_times=1))

    assert [part.reason for part in result] == [
        "its beginning may be missing", "lines in between may be missing",
        "how it ended is not known", "times are not known",
    ]  # fmt: skip
    every = [name for part in result for name in part.rules]
    assert len({*every}) == len(every)
    assert {*every} <= {*rules()}


def test_inferred_directions_break_no_rule() -> None:
    """If an import had to guess the direction of messages, `check` skips rules about directions."""
    result = unchecked_rules(Origin("acpx", (), inferred_directions=3))
    assert [part.rules for part in result] == [("rpc.wrong-direction",)]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("shortened", "parts of messages were left out"),
        ("agent-shell", "some values are written alike"),
    ],
)
def test_what_earlier_versions_imported_is_not_judged(name: str, reason: str) -> None:
    """If an earlier version imported a log incompletely, `check` judges none of its messages."""
    with RecordingReader(DATA / "text_form" / f"{name}.jsonl") as reader:
        result = Checker(reader).read()
    assert result.findings == []
    assert reason in [part.reason for part in result.unchecked]


def test_no_rule_judges_a_message_of_which_parts_were_left_out() -> None:
    """If an import has left out parts of messages, `check` applies no rules about messages."""
    (result,) = unchecked_rules(Origin("lines", ("parts",)))
    assert {*result.rules} == {
        other.id for other in rules().values() if other.group not in CONVERSATION
    }


def test_a_session_is_known_though_its_opening_is_missing() -> None:
    """`check` finds a reused tool call id even if an imported log lacks the session's opening."""
    call = '{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"Run"}}'
    line = f'<- {{"jsonrpc":"2.0","method":"session/update","params":{call}}}'
    result = _check([line, line], ("start", "middle", "ending"))
    assert [(finding.rule, finding.by, finding.seq) for finding in result.findings] == [
        ("tool.id-reused", "agent", 2)
    ]


@pytest.mark.parametrize(
    ("error", "is_broken"),
    [
        ('"message": "Session not found: s"', False),
        ('"message": "invalid params", "data": "unknown sessionId"', False),
        ('"message": "session/prompt takes no links"', True),
        ('"message": "no obsession, please"', True),
    ],
)
def test_a_prompt_may_be_refused_for_a_session_that_was_not_opened(
    error: str, *, is_broken: bool
) -> None:
    """If an imported log lacks a session's start, `check` accepts the error "Session not found"."""
    prompt = '"params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}'
    result = _check(
        [f'-> {{"jsonrpc":"2.0","id":2,"method":"session/prompt",{prompt}}}',
         f'<- {{"jsonrpc":"2.0","id":2,"error":{{"code":-32602,{error}}}}}'],
        ("start", "ending"),
    )  # fmt: skip
    assert [finding.rule for finding in result.findings] == ["prompt.baseline-refused"] * is_broken


def test_a_report_counts_and_lists_what_was_not_checked() -> None:
    """If an imported log lacks its start, the report of `check` lists the skipped rules.

    It names the reason, and does not count these rules as checked.
    """
    rows = text_form_of(['<- {"jsonrpc":"2.0","id":7,"result":{}}'])
    with RecordingReader(Path("cut.jsonl"), iter([_head(rows, ("start",)), *rows[1:]])) as reader:
        outcome = reported(reader, Checker(reader).read(), rules())
    assert outcome.findings == []
    assert [each.reason for each in outcome.unchecked] == ["its beginning may be missing"]
    assert outcome.rules == len(looked_at(rules(), None)) - len(outcome.unchecked[0].rules)


def _judge_parts(example: Example, cuts: Sequence[str], *, every: bool) -> None:
    told = [line for line in example.lines if not line.startswith(" ")]
    lines = [*before(example.after), *told]
    if any("|" in line[:10] for line in lines):
        return  # the example has raw lines
    rows = text_form_of(lines)
    written = [line.split() for line in example.lines if line.startswith(" ")]
    known = {word for words in written for word in words}
    whole = "" if example.after else _result(rows, (), [*range(1, len(rows))]).dialect
    is_whole = rules()[example.rule].group in CONVERSATION
    places = range(1, len(rows) - 1) if every else [len(rows) // 2]
    for at, cut in itertools.product(places, cuts):
        kept = {
            "start": range(at + 1, len(rows)),
            "middle": (
                row for row in range(1, len(rows)) if row != at + 1 or b'"event"' in rows[row]
            ),
            "ending": range(1, at + 1),
            "all": (row for row in range(1, len(rows)) if row % 3 != at % 3),
        }
        lost = ("start", "middle", "ending") if cut == "all" else (cut,)
        part = _result(rows, lost, [*kept[cut]], is_whole=is_whole)
        if part.frames and (part.dialect or V1) in (example.after or whole or V1):  # else unseen
            broken = {finding.rule for finding in part.findings if not _is_open(finding)}
            assert broken <= known, (example, cut, at)


def _is_open(finding: Finding) -> bool:
    """Whether a finding says, without blame, that a request has no answer yet."""
    return (finding.rule, finding.by, finding.severity) == (UNANSWERED, None, Severity.INFO)


def _result(
    rows: list[bytes], lost: tuple[str, ...], kept: list[int], *, is_whole: bool = False
) -> ConformanceResult:
    lines = [_head(rows, lost) if lost else rows[0], *(rows[row] for row in kept)]
    with RecordingReader(Path("cut.jsonl"), iter(lines)) as reader:
        return check_whole(reader) if is_whole else Checker(reader).read()


def _check(lines: list[str], lost: tuple[str, ...]) -> ConformanceResult:
    rows = text_form_of(lines)
    return _result(rows, lost, [*range(1, len(rows))])


def _head(rows: list[bytes], lost: tuple[str, ...]) -> bytes:
    head = json.loads(rows[0])
    of_excerpt = head["recording"].get("origin", {}).get("lost", ())
    head["recording"]["origin"] = {
        "source": "lines",
        "lost": [*dict.fromkeys((*of_excerpt, *lost))],
    }
    return json.dumps(head).encode() + b"\n"
