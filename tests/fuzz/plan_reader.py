"""Fuzzes the reader of fault plans: each text is read or refused; a stored plan is read back."""

from __future__ import annotations

import json

from acp_proxy.base.errors import BadPlan
from acp_proxy.faults.plan import KINDS, Plan, joined, load_plan, parse_rule, plan_text, ready_plans
from acp_proxy.faults.structuring import BadToml, read_toml, settings_of
from tests.fuzz import scratch
from tests.fuzz.byte_source import ByteSource
from tests.fuzz.target import Target


def check(data: bytes) -> None:
    """Reads a plan from a file or from rules of the command line; the first byte decides which."""
    source = ByteSource(data)
    is_file = source.number(1) == 0
    text = source.rest()
    try:
        plan = _load(text) if is_file else _rules(text)
    except BadPlan as e:
        assert str(e)
        return
    names = [rule.name for rule in plan.rules]
    assert len(set(names)) == len(names)
    _check_comes_back(plan)


def _load(text: bytes) -> Plan:
    path = scratch.directory("plan_reader") / "plan.toml"
    path.write_bytes(text)
    return load_plan(path)


def _rules(text: bytes) -> Plan:
    """Makes a plan from lines; each line is the value of one option ``--fault``."""
    rules = [parse_rule(rule.decode(errors="surrogateescape")) for rule in text.split(b"\n")]
    return joined([], rules, 7)


def _check_comes_back(plan: Plan) -> None:
    """Checks that a stored plan is read with the same rules, names and seed."""
    text = plan_text(plan)
    try:
        read_toml(text)
    except BadToml as e:
        raise AssertionError(f"{e} in what was written:\n{text}") from None
    again = _load(text.encode())
    assert (again.rules, again.seed) == (plan.rules, plan.seed)
    assert plan_text(again) == text


def _seeds() -> list[bytes]:
    files = [b"\0" + path.read_bytes() for path in ready_plans().values()]
    rules = [
        f"\1{kind} where=method:session/prompt after=1 probability=0.5 times=2".encode()
        for kind in KINDS
    ]
    tables = [f'\0[[fault]]\nkind = "{kind}"\nname = "x"\nevery = 2\n'.encode() for kind in KINDS]
    return (
        files + rules + tables + [b"\1latency ms=100\nlatency ms=100\nlatency ms=10 window=1s..2s"]
    )


_SETTINGS = sorted({name for kind in KINDS.values() for name in settings_of(kind)})
WORDS = (*(f"{name} = ".encode() for name in _SETTINGS),
         *(f" {name}=".encode() for name in _SETTINGS),
         *(json.dumps(kind).encode() for kind in KINDS), b"[[fault]]\n", b"seed = ", b"about = ",
         b"name = ", b"where = ", b"after = ", b"every = ", b"times = ", b"probability = ", b"0.1",
         b'["1s", "2s"]', b"window = ", b"true", b"nan", b"inf", b"-0.0", b"0x10", b"1979-05-27",
         b"'''", b'"""', b"{a = 1}", b"a.b.c = 1\n", b"\\u0000", b" = ", b"\n")  # fmt: skip
TARGET = Target("plan_reader", check, _seeds, WORDS, longest=2048, steps=60_000)
