"""The options of ``record``, as one table that the starter reads at once and click presents.

`parse` is quick and knows only right use. Anything it does not understand, ``--help`` included, it
leaves to the command line proper, which builds its options from the same table, so the two cannot
drift apart.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

DIALECTS = ("auto", "v1", "v2", "draft-1.0")
_UNITS = {"": 1, "b": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_SIZE_UNITS = ("kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LONGEST_NAME = 200
"""Bytes; with what is added to it for a file the system takes 255."""
_TRUE = ("1", "true", "t", "yes", "y", "on")
_FALSE = ("0", "false", "f", "no", "n", "off", "")


def size(text: str) -> int:
    """Reads a number of bytes: ``500``, ``64k``, ``1.5MB``, ``2GiB``.

    Raises:
        ValueError: it is not one.
    """
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
        raise ValueError(f"{text!r} is not a size: {number!r} is no number") from None


def seconds(text: str) -> float:
    """Reads a number of seconds that is not negative.

    Raises:
        ValueError: it is not one.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError(f"{text!r} is not a time: expected seconds, such as 5 or 0.5")
    return value


def keep(text: str) -> "tuple[str, float]":
    """Reads what to keep: an age (``30s 10m 8h 30d 4w``) or a total size (``500MB``, ``2GiB``).

    A number needs its unit, and a size more than one letter of it, since what is misread here is
    deleted: is ``30`` bytes or days, and ``500M`` megabytes or minutes?

    Returns:
        ``("age", seconds)`` or ``("size", bytes)``.

    Raises:
        ValueError: it is neither.
    """
    word = text.strip()
    unit = word.lstrip("0123456789.")
    number = word[: len(word) - len(unit)]
    if number.replace(".", "", 1).isdecimal() and float(number) < float("inf"):
        if unit in _SECONDS:
            return ("age", float(number) * _SECONDS[unit])
        if unit.lower() in _SIZE_UNITS:
            return ("size", float(size(word)))
    raise ValueError(
        f"{text!r} is neither an age (30s, 10m, 8h, 30d, 4w) nor a size (500kB, 500MB, 2GB, 2GiB)"
    )


def redaction(text: str) -> str:
    """Accepts the one redaction level that is built.

    Raises:
        ValueError: any other level.
    """
    if text == "none":
        return text
    if text in ("secrets", "private"):
        raise ValueError(f"masking is not built yet: expected none, got {text}; leave --redact out")
    raise ValueError(f"{text!r} is no redaction level: expected none")


def dialect(text: str) -> str:
    """Accepts a dialect.

    Raises:
        ValueError: it is none of `DIALECTS`.
    """
    if text not in DIALECTS:
        raise ValueError(f"{text!r} is no dialect: expected one of {', '.join(DIALECTS)}")
    return text


def output(text: str) -> str:
    """Accepts a path for the database.

    Raises:
        ValueError: it names the text form, which is exported and never recorded.
    """
    if text.endswith(".jsonl"):
        raise ValueError(f"record writes a database: expected a name such as NAME.db, got {text!r}")
    if not text or text.endswith("/"):
        raise ValueError(f"expected the path of a file, got {text!r}")
    return text


def name(text: str) -> str:
    """Accepts a name that can be a file's, can be typed, and says nothing to a terminal.

    Raises:
        ValueError: it is empty, hidden, too long or ``latest``, or has a slash or what is not
            printed.
    """
    is_short = len(text.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME
    is_plain = text.isprintable() and "/" not in text and text[:1] not in ("", ".", "-")
    if not (is_short and is_plain) or text == "latest":
        raise ValueError(
            f"{text[:60]!r} cannot be a name: expected printable UTF-8 of at most {_LONGEST_NAME} "
            "bytes without a slash, that does not begin with . or - and is not latest"
        )
    return text


def seed(text: str) -> int:
    """Reads a whole number that a recording can hold.

    Raises:
        ValueError: it is none.
    """
    word = text.strip()
    if word.isascii() and word.removeprefix("-").isdecimal() and len(word) < 20:
        value = int(word)
        if -(1 << 63) <= value < 1 << 63:
            return value
    raise ValueError(f"{text!r} is no seed: expected a whole number, such as 42")


class Option:
    """One option: its attribute, how it is written, how its value is read, and what it is for.

    Attributes:
        many: whether it may be given several times, each of which counts.
        is_late: whether only the command line proper can tell what its value is worth.
        otherwise: what happens without it, for an option whose bad value stops nobody: it is told,
            and the option is as if it had not been given. Empty for all others.
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
        self.variable = "ACP_PROXY_" + attribute.upper()

    def value(self, text: str, source: str) -> object:
        """Reads a value; a bad one that stops nobody is an `Ignored`.

        Args:
            text: the value.
            source: where it stands, the flag or the variable.

        Raises:
            ValueError: it is a bad one.
        """
        try:
            return self.read(text) if self.read else truth(text)
        except ValueError as e:
            if not self.otherwise:
                raise
            return Ignored(f"{source}: {e}; {self.otherwise}")


class Ignored(str):
    """What is said of a value that cannot be used, in place of the value."""

    __slots__ = ()


RECORD = (
    Option("output", output, "FILE", None, "Where to record; an existing file is never touched: "
           "the recording is then FILE-2. Without it, a fresh file in the recordings directory.",
           "-o"),
    Option("name", name, "NAME", None, "A name to find the recording by."),
    Option("redact", redaction, "[secrets|private|none]", "none", "What to mask. Only none, the "
           "default, is built: a recording holds everything that was said, secrets included."),
    Option("dialect", dialect, "[auto|v1|v2|draft-1.0]", "auto", "The ACP dialect that is spoken; "
           "auto decides from the initialize exchange. It changes labels, never bytes."),
    Option("max_size", size, "BYTES", None, "Stop recording (never the conversation) when log and "
           "database together reach this size, such as 500MB."),
    Option("grace", seconds, "S", 5.0, "Seconds an agent that was told to stop has before it "
           "is killed; also the silence after which one whose client is gone is told to stop. "
           "Default: 5."),
    Option("keep", keep, "AGE|SIZE", None, "Delete old recordings of the recordings directory at "
           "the start: those older than AGE (7d, 12h), or the oldest beyond SIZE in all (2GB).",
           otherwise="nothing is deleted"),
    Option("fsync", None, "", False, "Flush every chunk to the disk, for what must survive a power "
           "cut. Slow."),
    Option("require_recording", None, "", False, "Do not start the agent if nothing can be "
           "recorded."),
    Option("fault", str, "RULE", (), "A fault: its kind, then name=value, such as 'drop "
           "where=\"method:session/update\" times=1'. Can be given several times. In the "
           "environment, one rule a line.", many=True, is_late=True),
    Option("faults", str, "PLAN", None, "A plan of faults: a TOML file, or @NAME for one that "
           "comes with acp-proxy.", is_late=True),
    Option("seed", seed, "N", None, "The seed of all chance in faults, so that they can be "
           "repeated. Without it one is chosen, and recorded.", is_late=True),
)  # fmt: skip


class RecordOptions:
    """What ``record`` was asked to do; one attribute per row of `RECORD`, and the command.

    Attributes:
        ignored: what is to be said of values that cannot be used and stop nobody.
    """

    output: "str | None"
    name: "str | None"
    redact: str
    dialect: str
    max_size: "int | None"
    grace: float
    keep: "tuple[str, float] | None"
    fsync: bool
    require_recording: bool
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
    """Reads the arguments after ``record``; None if they need the command line proper."""
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
            text = environ.get(option.variable)
            if text and option.is_late:
                return None
            if text and option.attribute not in values:
                values[option.attribute] = option.value(text, option.variable)
    except (KeyError, IndexError, ValueError):
        return None
    return RecordOptions(rest, values) if rest and rest[0] else None


def truth(text: str) -> bool:
    """Reads a yes or no as click does.

    Raises:
        ValueError: it is neither.
    """
    word = text.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(f"{text!r} is neither yes nor no")
