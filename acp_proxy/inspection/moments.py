"""Says when something was."""

from datetime import datetime

_DAY = 86400


def when(started: datetime, now: datetime) -> str:
    """Says when something was as a person would: for a week by how long ago, then by its date."""
    past = (now - started).total_seconds()
    if past < 0 or past >= 7 * _DAY:
        return f"{started.astimezone():%Y-%m-%d}"
    if past < 60:
        return "just now"
    for unit, name in ((_DAY, "d"), (3600, "h"), (60, "min")):
        if past >= unit:
            return f"{int(past // unit)} {name} ago"
    return ""
