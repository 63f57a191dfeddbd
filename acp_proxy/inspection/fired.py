"""What faults did to a frame and to a conversation, in words."""

from collections.abc import Iterator
from typing import Any

from acp_proxy.safe_text import plain
from acp_proxy.store.reader import RecordingReader

_LONGEST = 200

Row = dict[str, Any]


def mark(frame: Row) -> str:
    """What stands before what a frame says: which rules fired, and what went out in its place."""
    if frame.get("fault") is None:
        return "" if frame["delivered"] == "full" else f"[delivered: {frame['delivered']}] "
    fired = frame.get("fired") or []
    names = plain(", ".join(one["rule"] for one in fired) or frame["fault"])
    if any(one["made"] for one in fired):
        return f"[injected by {names}] "
    if (instead := delivered_instead(frame)) is not None:
        text = plain(instead[:_LONGEST].decode(errors="replace").rstrip("\r\n"))
        more = "…" if len(instead) > _LONGEST else ""
        end = "" if instead.endswith(b"\n") else ", without an end"
        return f"[{names}: delivered {text}{more}{end}] " if text else f"[{names}: cut to nothing] "
    if frame["delivered"] != "full":
        return f"[{names}: delivered: {frame['delivered']}] "
    return f"[{names}] "


def delivered_instead(frame: Row) -> bytes | None:
    """The bytes that went out in place of a frame; None if they are its own, or there are none."""
    for one in frame.get("fired") or []:
        if not one["made"] and isinstance(one["delivered"], bytes):
            line = bytes(frame["raw"]) + frame["newline"].encode()
            return None if one["delivered"] == line else one["delivered"]
    return None


def described(frame: Row) -> Iterator[str]:
    """Says of each rule what it made of a frame."""
    for one in frame.get("fired") or []:
        if one["made"]:
            what = "made this line up"
        elif one["delivered"] is None and one.get("size"):
            what = f"{one['size']} other bytes were delivered"
        elif one["delivered"] is None:
            what = "nothing was delivered"
        elif delivered_instead(frame) is None:
            what = "the same bytes were delivered"
        else:
            what = f"{len(one['delivered'])} other bytes were delivered"
        name = one["rule"] if one["rule"] == one["action"] else f"{one['rule']} ({one['action']})"
        yield f"{name}: {what}"


def read_faults(reader: RecordingReader) -> dict[str, int]:
    """How often each rule fired, by its name in the plan's order; those that never did with 0."""
    counts = dict.fromkeys(rules(reader.recording.fault_plan), 0)
    sql = (
        "SELECT rule, count(*) AS n FROM faults_fired WHERE received IS NOT NULL"
        " GROUP BY rule ORDER BY min(seq)"
    )
    for row in reader.query(sql):
        counts[str(row["rule"])] = row["n"]
    return counts


def rules(plan: str | None) -> list[str]:
    """The names of a plan's rules; none if it is no plan."""
    if not plan:
        return []
    from acp_proxy.faults.plan import structure_plan  # late: few recordings have one
    from acp_proxy.faults.toml import read_toml

    try:
        return [rule.name for rule in structure_plan(read_toml(plan), "").rules]
    except Exception:  # whatever a text that anybody may have written makes them raise
        return []


def times_fired(faults: dict[str, int]) -> str:
    """How often rules fired, and which ones never did."""
    fired = ", ".join(f"{plain(name)} {n:,} ×" for name, n in faults.items() if n)
    never = ", ".join(plain(name) for name, n in faults.items() if not n)
    return "; ".join(filter(None, (fired, f"never fired: {never}" if never else "")))
