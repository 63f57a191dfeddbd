"""Parses option values: sizes, times, ages, names. Bad values raise `ValueError` with a hint.

Nothing is imported here, since `record` reads its options before it starts the agent.
"""

_UNITS = {"": 1, "b": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_SIZE_UNITS = ("kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LONGEST_NAME = 200
"""The most bytes of a name. A file name adds to this name, and may have 255 bytes."""
_TRUE = ("1", "true", "t", "yes", "y", "on")
_FALSE = ("0", "false", "f", "no", "n", "off", "")


def read_size(text: str) -> int:
    """Reads a number of bytes: ``500``, ``64k``, ``1.5MB``, ``2GiB``."""
    number = text.strip().lower()
    unit = number.lstrip("0123456789.")
    number = number[: len(number) - len(unit)]
    binary = unit.endswith("ib")
    prefix = unit.strip().removesuffix("ib").removesuffix("b")
    if prefix not in _UNITS or not number:
        raise ValueError(f"{text!r} is not a size: expected bytes, such as 500, 64k, 1.5MB or 2GiB")
    try:
        factor = 1024 ** "bkmgt".index(prefix) if binary and prefix else _UNITS[prefix]
        return int(float(number) * factor)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a size: {number!r} is not a number") from None


def read_seconds(text: str) -> float:
    """Reads a number of seconds that is not negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError(f"{text!r} is not a time: expected seconds, such as 5 or 0.5")
    return value


def read_keep(text: str) -> "tuple[str, float]":
    """Reads how much to keep: an age (``30s 10m 8h 30d 4w``) or a total size (``500MB``, ``2GiB``).

    A number needs a unit, and the unit of a size needs at least two letters. A misread value would
    delete recordings: is ``30`` bytes or days, and ``500M`` megabytes or minutes?

    Returns:
        ``("age", seconds)`` or ``("size", bytes)``.
    """
    word = text.strip()
    unit = word.lstrip("0123456789.")
    number = word[: len(word) - len(unit)]
    if number.replace(".", "", 1).isdecimal() and float(number) < float("inf"):
        if unit in _SECONDS:
            return ("age", float(number) * _SECONDS[unit])
        if unit.lower() in _SIZE_UNITS:
            return ("size", float(read_size(word)))
    raise ValueError(
        f"{text!r} is neither an age (30s, 10m, 8h, 30d, 4w) nor a size (500kB, 500MB, 2GB, 2GiB)"
    )


def read_redaction(text: str) -> str:
    """Accepts a redaction level.

    Raises:
        ValueError: there is no such level.
    """
    if text in ("secrets", "private", "none"):
        return text
    raise ValueError(f"{text!r} is not a redaction level: expected secrets, private or none")


def read_output(text: str) -> str:
    """Accepts a path for the database; the text form can only be exported, not recorded."""
    if text.endswith(".jsonl"):
        raise ValueError(f"record writes a database: expected a name such as NAME.db, got {text!r}")
    if not text or text.endswith("/"):
        raise ValueError(f"expected the path of a file, got {text!r}")
    return text


def read_name(text: str) -> str:
    """Accepts a name that can be a file name, can be typed, and has no control characters."""
    is_short = len(text.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME
    is_plain = text.isprintable() and "/" not in text and text[:1] not in ("", ".", "-")
    if not (is_short and is_plain) or text == "latest":
        raise ValueError(
            f"{text[:60]!r} cannot be a name: expected printable UTF-8 of at most {_LONGEST_NAME} "
            "bytes without a slash, that does not begin with . or - and is not latest"
        )
    return text


def read_seed(text: str) -> int:
    """Reads a whole number that a recording can hold."""
    word = text.strip()
    if word.isascii() and word.removeprefix("-").isdecimal() and len(word) < 20:
        value = int(word)
        if -(1 << 63) <= value < 1 << 63:
            return value
    raise ValueError(f"{text!r} is not a seed: expected a whole number, such as 42")


def read_truth(text: str) -> bool:
    """Reads a yes or no, in the spellings that click accepts."""
    word = text.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(f"{text!r} is neither yes nor no")
