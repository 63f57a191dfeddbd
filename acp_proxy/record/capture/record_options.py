"""The options of ``record``, as one table for both the fast parser and click.

`parse` is quick and understands only correct use. It leaves everything else, such as ``--help``, to
the click command, which is built from the same table. The functions that read values raise
`ValueError` with a hint.

This module imports nothing, since `record` reads its options before it starts the agent.
"""

_UNITS = {"": 1, "b": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_SIZE_UNITS = ("kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LONGEST_NAME = 200
"""The most bytes of a recording's name. A file name, which also has a suffix, has at most 255
bytes."""
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

    A number needs a unit. The unit of a size needs at least two letters, since ``500M`` could be
    megabytes or minutes.

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
        raise ValueError(f"`record` writes a database: expected a name like NAME.db, got {text!r}")
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
            "bytes without a slash, not beginning with . or -, and not the word latest"
        )
    return text


def read_seed(text: str) -> int:
    """Reads a whole number that a column of the recording can store: at most 64 bits."""
    word = text.strip()
    if word.isascii() and word.removeprefix("-").isdecimal() and len(word) < 20:
        value = int(word)
        if -(1 << 63) <= value < 1 << 63:
            return value
    raise ValueError(f"{text!r} is not a seed: expected a whole number, such as 42")


def read_command(text: str) -> "list[str]":
    """Splits a command as a shell would."""
    from shlex import split

    if words := split(text):
        return words
    raise ValueError("expected a command, got nothing")


def read_truth(text: str) -> bool:
    """Reads a yes or no, in the spellings that click accepts."""
    word = text.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(f"{text!r} is neither yes nor no")


def is_off(value: str) -> bool:
    """Whether a value of ``ACP_PROXY_OFF`` switches recording off."""
    try:
        return read_truth(value)
    except ValueError:
        return True


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Option:
    """One option: its attribute, its spelling, the reader of its values, and its purpose.

    Args:
        many: whether the option may be repeated; all its values are used.
        is_late: whether only the click command can check its value.
        has_variable: whether an environment variable can also set the option.
        otherwise: what happens after a bad value was reported and ignored; empty if a bad value is
            an error.
    """

    def __init__(
        self,
        attribute: str,
        read: "Callable[[str], object] | None",
        metavar: str,
        default: object,
        text: str,
        short: str = "",
        *,
        many: bool = False,
        is_late: bool = False,
        has_variable: bool = True,
        otherwise: str = "",
    ) -> None:
        self.attribute = attribute
        self.read = read
        self.metavar = metavar
        self.default = default
        self.text = text
        self.flag = "--" + attribute.replace("_", "-")
        self.short = short
        self.many = many
        self.is_late = is_late
        self.otherwise = otherwise
        self.variable = "ACP_PROXY_" + attribute.upper() if has_variable else ""

    def value(self, text: str, source: str) -> object:
        """Reads a value; returns `Ignored` for a bad value that should not stop the recording.

        Args:
            text: the value.
            source: the flag or the environment variable that the value comes from.

        Raises:
            ValueError: the value is bad, and the option has no ``otherwise``.
        """
        try:
            return self.read(text) if self.read else read_truth(text)
        except ValueError as e:
            if not self.otherwise:
                raise
            return Ignored(f"{source}: {e}; {self.otherwise}")


class Ignored(str):
    """A complaint about a value. It takes the place of the value, which cannot be used."""

    __slots__ = ()


RECORD = (
    Option("output", read_output, "FILE", None,
           "Where to record, by default a new file in the recordings directory. An existing file "
           "is never touched: the recording is then FILE-2.",
           "-o"),
    Option("name", read_name, "NAME", None, "A name for the recording."),
    Option("redact", read_redaction, "[secrets|private|none]", "secrets",
           "What to mask in the recording: secrets (the default), private (also prompts, messages "
           "and contents of files) or none. Forwarded messages are never masked."),
    Option("max_size", read_size, "BYTES", None,
           "Stop recording (never the conversation) when log and "
           "database together reach this size, such as 500MB."),
    Option("grace", read_seconds, "S", 5.0, "Seconds between the signal that asks an agent to "
           "stop and its SIGKILL; also the seconds of silence after which an agent whose client is "
           "gone is asked to stop. Default: 5."),
    Option("keep", read_keep, "AGE|SIZE", None,
           "At the start, delete recordings of the recordings directory "
           "that are older than AGE (7d, 12h), or the oldest until at most SIZE (2GB) is left.",
           otherwise="nothing is deleted"),
    Option("require_recording", None, "", False, "Do not start the agent if nothing can be "
           "recorded."),
    Option("check", None, "", False, "At the end, print on stderr which rules of the protocol were "
           "broken."),
    Option("on_stall", read_command, "CMD", None,
           "When the agent is silent for too long, run CMD, once for each silence. Its standard "
           "input is a sentence about the silence.", has_variable=False),
    Option("stall", read_seconds, "S", 120.0,
           "The silence that --on-stall allows, in seconds; at least ten minutes while a tool call "
           "is running. Default: 120.", has_variable=False),
    Option("fault", str, "RULE", (), "A fault: its kind, then name=value, such as 'drop "
           "where=\"method:session/update\" times=1'. Can be given several times. The "
           "environment variable has one rule in each line.", many=True, is_late=True),
    Option("faults", str, "PLAN", None, "A plan of faults: a TOML file, or @NAME for a plan that "
           "comes with acp-proxy.", is_late=True),
    Option("seed", read_seed, "N", None, "The seed of random faults, to repeat them. Without it, "
           "a seed is chosen and recorded.", is_late=True),
)  # fmt: skip


class RecordOptions:
    """The options of a ``record`` command: an attribute for each row of `RECORD`, and the command.

    Attributes:
        ignored: complaints about bad values that were ignored.
    """

    output: "str | None"
    name: "str | None"
    redact: str
    max_size: "int | None"
    grace: float
    keep: "tuple[str, float] | None"
    require_recording: bool
    check: bool
    on_stall: "list[str] | None"
    stall: float
    fault: "tuple[str, ...]"
    faults: "str | None"
    seed: "int | None"

    def __init__(self, command: "Sequence[str]", values: "Mapping[str, object]") -> None:
        self.command = list(command)
        self.ignored: list[str] = []
        for option in RECORD:
            value = values.get(option.attribute)
            if isinstance(value, Ignored):
                self.ignored.append(value)
                value = None
            setattr(self, option.attribute, option.default if value is None else value)


def parse(args: "Sequence[str]", environ: "Mapping[str, str]") -> "RecordOptions | None":
    """Reads the arguments after ``record``.

    Args:
        args: the arguments.
        environ: the environment. Its variables set options that ``args`` leaves out.

    Returns:
        The options; None if the click command has to read the arguments.
    """
    by_flag = {flag: o for o in RECORD for flag in (o.flag, o.short) if flag}
    values: dict[str, object] = {}
    rest = list(args)
    try:
        while rest and rest[0].startswith("-"):
            word = rest.pop(0)
            if word == "--":
                break
            flag, equals, value = word.partition("=") if word[1] == "-" else (word, "", "")
            option = by_flag[flag]
            if option.is_late:
                return None
            if option.read is None:
                if equals:
                    return None
                values[option.attribute] = True
            else:
                values[option.attribute] = option.value(value if equals else rest.pop(0), flag)
        for option in RECORD:
            text = option.variable and environ.get(option.variable)
            if text and option.is_late:
                return None
            if text and option.attribute not in values:
                values[option.attribute] = option.value(text, option.variable)
    except (KeyError, IndexError, ValueError):
        return None
    return RecordOptions(rest, values) if rest and rest[0] else None
