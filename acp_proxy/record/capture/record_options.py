"""The options of ``record``, as one table for both the fast parser and click.

`parse` is quick and understands only correct use. It leaves everything else, ``--help`` included,
to the click command. The click command builds its options from the same table, so the two parsers
cannot differ.
"""

from acp_proxy.record.capture.option_values import (
    read_keep,
    read_name,
    read_output,
    read_redaction,
    read_seconds,
    read_seed,
    read_size,
    read_truth,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Option:
    """One option: its attribute, its spelling, the reader of its values, and its purpose.

    Args:
        many: whether it may be repeated; all its values are used.
        is_late: whether only the click command can check its value.
        otherwise: what happens instead when a bad value is reported and ignored; empty if a bad
            value is an error.
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
        """Reads a value; returns `Ignored` for a bad value that should not stop the recording.

        Args:
            text: the value.
            source: the flag or the variable that gives it.

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
    """A complaint about a value that cannot be used, in place of the value."""

    __slots__ = ()


RECORD = (
    Option("output", read_output, "FILE", None,
           "Where to record, by default a new file in the recordings directory. An existing file "
           "is never touched: the recording is then FILE-2.",
           "-o"),
    Option("name", read_name, "NAME", None, "A name for the recording."),
    Option("redact", read_redaction, "[secrets|private|none]", "secrets",
           "What to mask in the recording, never in what is forwarded: secrets, the default; "
           "private, also prompts, messages and contents of files; or none."),
    Option("max_size", read_size, "BYTES", None,
           "Stop recording (never the conversation) when log and "
           "database together reach this size, such as 500MB."),
    Option("grace", read_seconds, "S", 5.0, "Seconds until an agent that was told to stop is "
           "killed; also the seconds of silence after which an agent whose client is gone is "
           "told to stop. Default: 5."),
    Option("keep", read_keep, "AGE|SIZE", None,
           "Delete old recordings of the recordings directory at "
           "the start: those older than AGE (7d, 12h), or the oldest beyond SIZE in all (2GB).",
           otherwise="nothing is deleted"),
    Option("require_recording", None, "", False, "Do not start the agent if nothing can be "
           "recorded."),
    Option("check", None, "", False, "At the end, print on stderr which rules of the protocol were "
           "broken."),
    Option("fault", str, "RULE", (), "A fault: its kind, then name=value, such as 'drop "
           "where=\"method:session/update\" times=1'. Can be given several times. In the "
           "environment, one rule a line.", many=True, is_late=True),
    Option("faults", str, "PLAN", None, "A plan of faults: a TOML file, or @NAME for one that "
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
        environ: the environment, which has a variable for each option.

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
            text = environ.get(option.variable)
            if text and option.is_late:
                return None
            if text and option.attribute not in values:
                values[option.attribute] = option.value(text, option.variable)
    except (KeyError, IndexError, ValueError):
        return None
    return RecordOptions(rest, values) if rest and rest[0] else None
