"""Checks a trace as a viewer reads it: what begins on a thread ends there, the last one first."""

from __future__ import annotations

from collections import Counter
from typing import Any

from attrs import define, field

Event = dict[str, Any]


@define
class CheckedTrace:
    """A trace of which every slice has an end.

    Attributes:
        slices: name, start and end of the slices, by the name of their thread.
    """

    slices: dict[str, list[tuple[str, float, float]]] = field(factory=dict)


def check_trace(trace: Event) -> CheckedTrace:
    """Checks the pairs, the nesting and the order of a trace's events.

    Args:
        trace: the JSON of the trace, decoded.
    """
    events: list[Event] = trace["traceEvents"]
    names = {
        (e["pid"], e.get("tid")): e["args"]["name"]
        for e in events
        if e["name" if "name" in e else "ph"] in ("process_name", "thread_name")
    }
    found = CheckedTrace()
    is_open: dict[tuple[int, int], list[Event]] = {}
    last: dict[tuple[int, int], float] = {}
    flows: Counter[tuple[str, Any]] = Counter()
    for event in events:
        phase, process = event["ph"], event["pid"]
        assert (process, None) in names or phase in "MC"
        if phase in "MC":
            continue
        thread = (process, event["tid"])
        where = f"{names[process, None]} / {names[thread]}"
        begin = event["ts"]
        if phase in "BEX":
            assert begin >= last.get(thread, begin), event
            last[thread] = begin
        if phase == "B":
            is_open.setdefault(thread, []).append(event)
        elif phase == "E":
            begun = is_open[thread].pop()
            found.slices.setdefault(where, []).append((begun["name"], begun["ts"], begin))
        elif phase == "X":
            assert event["dur"] > 0
            assert not is_open.get(thread)
            last[thread] = round(begin + event["dur"], 3)
            found.slices.setdefault(where, []).append((event["name"], begin, last[thread]))
        elif phase in "sf":
            flows[phase, event["id"]] += 1
            spans = found.slices[where]
            assert any(first <= begin < end for _, first, end in spans), event
        else:
            assert phase == "i"
    assert not any(is_open.values())
    assert all(flows["s", flow] == flows["f", flow] == 1 for _, flow in flows)
    return found
