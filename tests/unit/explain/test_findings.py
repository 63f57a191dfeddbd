"""`check` and `show` group findings of one rule that are alike."""

from attrs import evolve

from acp_proxy.explain.findings import Finding, Severity, alike

LEAK = Finding("term.leaked", Severity.ERROR, "agent", 3, 'the terminal "t0" was never released')
SILENCE = Finding("wait.silence", Severity.INFO, "agent", 3, "the agent was slow")


def test_sentences_that_differ_in_a_name_are_alike() -> None:
    """`check` groups findings that differ only in quoted names."""
    other = evolve(LEAK, seq=9, text='the terminal "t1" was never released')
    assert alike([LEAK, other]) == [[LEAK, other]]
    for change in ({"severity": Severity.WARNING}, {"by": "client"}, {"text": "was released"}):
        assert alike([LEAK, evolve(other, **change)]) == [[LEAK], [evolve(other, **change)]]


def test_findings_about_the_conversation_stay_alone() -> None:
    """`check` does not group findings about the whole conversation."""
    later = evolve(SILENCE, seq=9)
    assert alike([SILENCE, later]) == [[SILENCE], [later]]
