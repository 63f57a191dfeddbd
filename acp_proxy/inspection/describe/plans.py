"""Plans: how much is done, and which step it is at."""

from acp_proxy.inspection.describe.values import Value, joined, parts, word


def plan(value: Value) -> str:
    """Describes a plan by its entries (the 1.0 draft says steps)."""
    entries = parts(value, "entries") or parts(value, "steps")
    if not entries:
        return "empty"
    states = [word(entry, "status") for entry in entries]
    dropped = [state for state in states if state in ("cancelled", "failed")]
    return joined(
        f"{states.count('completed')} of {len(states)} done",
        f"{len(dropped)} {dropped[0]}" if dropped else "",
        _step("now", entries, "in_progress") or _step("next", entries, "pending"),
        by=", ",
    )


def plan_update(update: Value) -> str:
    """Describes one of several plans: a list, a file, or text."""
    inner = update.get("plan")
    value = inner if isinstance(inner, dict) else update
    match value.get("type"):
        case "file":
            shown = word(value, "uri")
        case "markdown":
            shown = word(value, "content")
        case _:
            shown = plan(value)
    return joined(word(value, "planId"), shown, by=": ")


def _step(when: str, entries: list[Value], state: str) -> str:
    step = next((entry for entry in entries if word(entry, "status") == state), None)
    return f"{when}: {word(step, 'content', 'description')}" if step is not None else ""
