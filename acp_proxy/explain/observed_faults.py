"""Reads the effects of faults on frames and conversations. No peer is blamed for them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from attrs import define, frozen

from acp_proxy.base.limits import EXAMPLES, LISTED, RULE_NAME, TITLE
from acp_proxy.base.wording import counted, plain
from acp_proxy.explain.describe.event_texts import describe_event
from acp_proxy.recording.recording import RecordedEvent
from acp_proxy.store.queries import fired_faults
from acp_proxy.store.queries.fired_faults import LostAnswer, has_fired_faults
from acp_proxy.store.queries.recorded_events import events as read_events
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row

ENDING = ("exit", "close", "kill", "terminate", "limit-data")
"""Kinds of faults that end the agent."""
HOLDING = ("stall", "pause", *ENDING)
"""Kinds of faults that prevent all later answers."""
_EFFECTS = {
    "made": "made up {}",
    "withheld": "withheld {}",
    "changed": "changed {}",
    "same": "delivered {} late or in pieces, with the same bytes",
}


@frozen
class FiredRule:
    """The effects of one rule of a plan."""

    name: str
    times: int
    """How often the rule fired."""
    effects: list[str]
    """The effects of the rule, in words."""
    seqs: list[int]
    """The numbers of the first frames that the rule changed, withheld or made up."""


def mark(frame: Row) -> str:
    """Returns the words to print before a frame's text: which rules fired, what was delivered."""
    if frame.get("fault") is None:
        return "" if frame["delivered"] == "full" else f"[delivered: {frame['delivered']}] "
    fired = frame.get("fired") or []
    names = plain(", ".join(fault["rule"] for fault in fired) or frame["fault"])
    if any(fault["made"] for fault in fired):
        return f"[injected by {names}] "
    if (instead := delivered_instead(frame)) is not None:
        text = plain(instead[:TITLE].decode(errors="replace").rstrip("\r\n"))
        more = "…" if len(instead) > TITLE else ""
        end = "" if instead.endswith(b"\n") else ", without a newline"
        return f"[{names}: delivered {text}{more}{end}] " if text else f"[{names}: cut to nothing] "
    if frame["delivered"] != "full":
        return f"[{names}: delivered: {frame['delivered']}] "
    return f"[{names}] "


def delivered_instead(frame: Row) -> bytes | None:
    """Returns the bytes that were sent in place of a frame.

    None if the frame was sent unchanged, or if nothing was sent.
    """
    for fault in frame.get("fired") or []:
        if not fault["made"] and isinstance(fault["delivered"], bytes):
            line = bytes(frame["raw"]) + frame["newline"].encode()
            return None if fault["delivered"] == line else fault["delivered"]
    return None


def described(frame: Row) -> Iterator[str]:
    """Describes what each rule did to a frame."""
    for fault in frame.get("fired") or []:
        if fault["made"]:
            what = "made up this line"
        elif fault["delivered"] is None and fault.get("size"):
            what = f"{fault['size']} other bytes were delivered"
        elif fault["delivered"] is None:
            what = "nothing was delivered"
        elif delivered_instead(frame) is None:
            what = "the same bytes were delivered"
        else:
            what = f"{len(fault['delivered'])} other bytes were delivered"
        rule, action = fault["rule"], fault["action"]
        yield f"{rule if rule == action else f'{rule} ({action})'}: {what}"


def read_faults(reader: RecordingReader) -> dict[str, int]:
    """Returns how often each rule of the plan fired, in the order of the plan."""
    counts = dict.fromkeys(rules(reader.recording.fault_plan), 0)
    return counts | fired_faults.fired_counts(reader)


def read_rules(reader: RecordingReader) -> list[FiredRule]:
    """Returns the effects of each rule of the plan, in the order of the plan.

    Args:
        reader: the recording.
    """
    effects: dict[str, list[str]] = {}
    for rule_effect in fired_faults.rule_effects(reader, LISTED):
        what = _EFFECTS[rule_effect.effect].format(counted(rule_effect.frames, "frame"))
        effects.setdefault(rule_effect.rule, []).append(f"{what} ({rule_effect.action})")
    for event in read_events(reader):
        if event.kind == "fault" and isinstance(rule := event.data.get("rule"), str):
            text = describe_event("fault", event.data).removeprefix(f"{rule}: ")
            effects.setdefault(rule, []).append(f"{text} (#{event.seq})")
    return [
        FiredRule(
            rule,
            times,
            effects.get(rule, [])[:EXAMPLES],
            fired_faults.frames_of_rule(reader, rule, EXAMPLES) if rule in effects else [],
        )
        for rule, times in read_faults(reader).items()
    ][:LISTED]


def rules(plan: str | None) -> list[str]:
    """Returns the names of a plan's rules; an empty list if the text is not a plan."""
    if not plan:
        return []
    from acp_proxy.faults.plan import structure_plan  # imported late: few recordings have a plan
    from acp_proxy.faults.structuring import read_toml

    try:
        return [rule.name for rule in structure_plan(read_toml(plan), "").rules]
    except Exception:  # the text of a recording may be anything
        return []


def times_fired(faults: dict[str, int]) -> str:
    """Describes how often rules fired, and which rules never fired."""
    fired = ", ".join(
        f"{plain(name)} {f'{n:,} times' if n > 1 else 'once'}" for name, n in faults.items() if n
    )
    never = ", ".join(plain(name) for name, n in faults.items() if not n)
    return "; ".join(filter(None, (fired, f"never fired: {never}" if never else "")))


@define
class FaultEffects:
    """The effects of the faults in one recording, read when they are needed."""

    reader: RecordingReader
    events: Sequence[RecordedEvent]
    """All events of the recording."""

    @cached_property
    def any_fired(self) -> bool:
        """Whether any rule of the plan has fired."""
        return has_fired_faults(self.reader)

    @cached_property
    def injected(self) -> dict[int, str]:
        """The numbers of the frames that rules made up, each with the name of the rule."""
        return _named(fired_faults.injected_frames(self.reader)) if self.any_fired else {}

    def withheld(self, seqs: Iterable[int]) -> dict[int, str]:
        """Returns which of the given frames were withheld, each with the name of the rule."""
        wanted = list(seqs)
        if not wanted or not self.any_fired:
            return {}
        return _named(fired_faults.withheld_frames(self.reader, wanted))

    def lost_answers(self) -> list[LostAnswer]:
        """Returns the answers that a rule kept from their receivers; only the first `LISTED`."""
        if not self.any_fired:
            return []
        answers = fired_faults.lost_answers(self.reader, LISTED)
        return [answer._replace(rule=plain(answer.rule)[:RULE_NAME]) for answer in answers]

    def first_rule(self, actions: tuple[str, ...], before: int | None) -> str | None:
        """Returns the name of the first rule of the given kinds that fired before a frame, or None.

        Args:
            actions: the kinds of faults: `ENDING` or `HOLDING`.
            before: the number of the frame; None for the whole recording.
        """
        for event in self.events:
            is_before = before is None or event.seq < before
            if event.kind == "fault" and is_before and event.data.get("action") in actions:
                return plain(str(event.data.get("rule", "a fault")))[:RULE_NAME]
        return None


def _named(rules: dict[int, str]) -> dict[int, str]:
    return {seq: plain(rule)[:RULE_NAME] for seq, rule in rules.items()}
