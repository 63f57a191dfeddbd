"""`diff` reports frames that only one recording has, and can compare one direction alone."""

from __future__ import annotations

import pytest

from acp_proxy.diff.diff_result import Change, Counts
from tests.support.log_writer import notification, request, result, text
from tests.support.scenario_runs import IN, OUT, Run, compare


def sessions(number: int, *words: str) -> Run:
    """Returns a run with a session for each word, and nothing else after the handshake."""
    run = Run(number)
    del run.said[2:]
    for place, word in enumerate(words, 3):
        run.session = f"ses_{word}{number}99{number}"
        run.add(OUT, request(place, "session/new", cwd=run.cwd, mcpServers=[]))
        run.add(IN, result(place, sessionId=run.session)).words(word).tell("plan", entries=[])
        run.add(OUT, notification("session/cancel", sessionId=run.session))
    return run


@pytest.mark.parametrize("change", [Change.ONLY_A, Change.ONLY_B])
@pytest.mark.parametrize("more", ["cats", "dogs"])
def test_a_session_of_only_one_side_is_reported(change: Change, more: str) -> None:
    """If only one recording has a session, `diff` reports all frames of that session."""
    both, single = ("cats", "dogs"), "dogs" if more == "cats" else "cats"
    if change is Change.ONLY_A:
        result, entries = compare(sessions(0, *both), sessions(1, single))
    else:
        result, entries = compare(sessions(0, single), sessions(1, *both))
    assert result.counts == Counts(**{change.name.lower(): 5})
    assert {entry.change for entry in entries} == {change}
    assert sorted((entry.direction, entry.title) for entry in entries) == [
        (OUT, "session/cancel"),
        (OUT, "session/new"),
        (IN, "session/update agent_message_chunk"),
        (IN, "session/update plan"),
        (IN, "the answer to session/new"),
    ]
    lanes = {entry.title.rpartition(" ")[2]: entry.lane for entry in entries}
    named = "session:1" if change is Change.ONLY_A and more == "cats" else "session:2"
    assert {lanes["plan"], lanes["agent_message_chunk"], lanes["session/cancel"]} == {named}
    assert result.aliases[named][change is Change.ONLY_A] is None


def test_a_session_that_was_never_opened_is_reported() -> None:
    """If only one recording has frames of a session that nobody opened, `diff` reports them."""

    def run(number: int, *, has_more: bool) -> Run:
        made = Run(number).words("hello").end()
        if has_more:
            made.session = "ses_other12345678"
            made.tell("plan", entries=[]).words("more")
        return made

    more, less = run(0, has_more=True), run(1, has_more=False)
    assert compare(more, less)[0].counts == Counts(only_a=2)
    assert compare(less, more)[0].counts == Counts(only_b=2)


def test_only_one_direction_may_count() -> None:
    """If `diff` compares only one direction, it lists only differences in this direction."""

    def run(number: int, word: str) -> Run:
        made = sessions(number, "cats")
        asked = {"sessionId": made.session, "prompt": [text(word)]}
        return made.add(OUT, request(9, "session/prompt", **asked)).words(word)

    a, b = run(0, "one"), run(1, "two")
    both = [(OUT, "session/prompt"), (IN, "session/update agent_message_chunk")]
    for only, told in ((None, both), (OUT, both[:1]), (IN, both[1:])):
        _, entries = compare(a, b, only=only)
        assert sorted((entry.direction, entry.title) for entry in entries) == told
        _, entries = compare(sessions(0), sessions(1, "cats"), only=only)
        assert len(entries) == {None: 5, OUT: 2, IN: 3}[only]


def test_only_one_half_of_the_handshake_may_count() -> None:
    """If `diff` compares only messages to the agent, it ignores the agent's `initialize` answer."""
    a, b = Run(0).end(), Run(1).end()
    b.said[0] = (OUT, request(0, "initialize", protocolVersion=2, clientCapabilities={}))
    b.said[1] = (IN, result(0, protocolVersion=2, agentCapabilities={"loadSession": True}))
    client, agent = "/params/protocolVersion", "/result/protocolVersion"
    for only, told in ((None, [client, agent]), (OUT, [client]), (IN, [agent])):
        outcome, _ = compare(a, b, only=only)
        assert [field.pointer for field in outcome.handshake] == told


def test_a_directory_of_b_is_not_recognized_in_a() -> None:
    """`diff` reports B's directory in a text of A, even if `DiffOptions.same` pairs it with A's."""
    a = Run(0).words(f"wrote {Run(1).cwd}/x").end()
    b = Run(1).words(f"wrote {Run(1).cwd}/x").end()
    assert compare(a, b, same=((Run(1).cwd, Run(0).cwd),))[0].counts == Counts(changed=1)


def test_the_result_has_the_first_hundred_names_of_a_kind() -> None:
    """The result of `diff` lists at most a hundred pairs of generated ids of each kind."""

    def run(number: int, calls: int) -> Run:
        made = Run(number)
        for place in range(calls):
            made.tell("tool_call", toolCallId=made.call(f"n{place}"), title=f"Call {place}")
        return made.end()

    aliases = compare(run(0, 150), run(1, 50))[0].aliases
    told = {name: value for name, value in aliases.items() if name.startswith("call:")}
    assert [*told] == [f"call:{place + 1}" for place in range(100)]
    assert told["call:50"] == (Run(0).call("n49"), Run(1).call("n49"))
    assert told["call:51"] == (Run(0).call("n50"), None)
    assert (aliases["session:1"], aliases["path:cwd"]) == (
        (Run(0).session, Run(1).session),
        (Run(0).cwd, Run(1).cwd),
    )


def test_a_difference_has_a_preview() -> None:
    """The preview of a difference in `diff` is A's message, or B's if only B has a message."""
    a = Run(0).words("one ", "\x1b[2J", "two").end()
    b = Run(1).words("three").tell("tool_call", toolCallId="c", title="Run\nit").end()
    previews = {entry.title: entry.preview for entry in compare(a, b)[1]}
    assert previews["session/update agent_message_chunk"] == r"one \x1b[2Jtwo"
    assert previews["session/update tool_call"] == r"tool_call: Run\nit (c)"
