"""Checks the environment variables of acp-proxy, which change what acp-proxy does."""

from collections.abc import Callable, Iterator
from functools import partial

from acp_proxy.base.wording import did_you_mean
from acp_proxy.editors.doctor.context import CheckResult, DoctorContext, error, ok, warning
from acp_proxy.record.capture.record_options import RECORD, Ignored, is_off, read_truth

PREFIX = "ACP_PROXY_"
_OPTIONS = {option.variable: option for option in RECORD}
_SPECIAL = ("ACP_PROXY_OFF", "ACP_PROXY_RECORDINGS", "ACP_PROXY_PARENT", "ACP_PROXY_SECRETS",
            "ACP_PROXY_MADE_BY", "ACP_PROXY_PAGER")  # fmt: skip
_UNUSUAL = {
    "ACP_PROXY_OUTPUT": "every recording goes to this file, or to one beside it with a number",
    "ACP_PROXY_NAME": "every recording has this name, with a number",
    "ACP_PROXY_FAULT": "every agent that is recorded gets these faults",
    "ACP_PROXY_FAULTS": "every agent that is recorded gets the faults of this plan",
    "ACP_PROXY_REQUIRE_RECORDING": "an agent that cannot be recorded does not start",
    "ACP_PROXY_PARENT": "this shell runs inside a recording",
    "ACP_PROXY_SECRETS": "this shell was started by verify",
    "ACP_PROXY_MADE_BY": "recordings count as runs of that command, and never are `latest`",
}


def variables(context: DoctorContext) -> Iterator[CheckResult]:
    """Yields the results for the variables of this shell; an editor may have other variables.

    Args:
        context: the machine, and how acp-proxy is started on it.
    """
    environ = context.machine.environ
    parts = (environ.get("PYTHONPATH") or "/").split(":")  # an empty variable counts as not set
    if not all(part.startswith("/") for part in parts):
        yield warning(
            "PYTHONPATH has an empty or a relative part: Python runs code of the current directory,"
            " which may belong to somebody else where an editor starts an agent",
            advice="this is for the shell; also change the file that sets it, such as ~/.profile",
        )
    usual = []
    for name in sorted(name for name in environ if name.startswith(PREFIX)):
        value = environ[name]
        if not value:  # an empty variable counts as not set
            continue
        if (result := _unusual(context, name, value)) is None:
            usual.append(f"{name}={value}")
        else:
            yield result
    if usual:
        yield ok(", ".join(usual))
    elif not any(environ[name] for name in environ if name.startswith(PREFIX)):
        yield ok(f"no {PREFIX}* is set")


def complaint(name: str, value: str) -> str:
    """Returns what is wrong with the value of a variable of ``record``, or "" if nothing is wrong.

    Args:
        name: the name of the variable.
        value: the value of the variable.
    """
    option = _OPTIONS.get(name)
    if option is None or not value:
        return ""
    try:
        result = option.value(value, name)
    except ValueError as e:
        return f"{name}: {e}; record does not start with this value"
    return result if isinstance(result, Ignored) else ""


def _unusual(context: DoctorContext, name: str, value: str) -> CheckResult | None:
    make = partial(_result, name)
    if name == "ACP_PROXY_OFF":
        if not is_off(value):
            return None
        return make(error, f"{name}={value}: agents started from here are not recorded")
    if problem := complaint(name, value) or _plan_complaint(context, name, value):
        return make(error, problem)
    if name == "ACP_PROXY_RECORDINGS":
        effect = "an editor without this variable records elsewhere"
        if not value.startswith(("/", "~")):
            effect = "it is relative, so each program records below its own directory"
        return warning(f"{name}={value}: {effect}")
    if name == "ACP_PROXY_REDACT" and value == "none":
        return make(warning, f"{name}=none: secrets are recorded as they are")
    if name in _UNUSUAL:
        if name in _OPTIONS and _OPTIONS[name].read is None and not read_truth(value):
            return None
        return make(warning, f"{name}={value}: {_UNUSUAL[name]}")
    if removed := context.removed(name, value):
        return make(warning, f"{name}={value}: {removed}")
    if name in _OPTIONS or name in _SPECIAL or _is_of_command(context, name):
        return None
    near = did_you_mean(name, [*_OPTIONS, *_SPECIAL])
    return make(warning, f"{name} is no variable of acp-proxy{near}")


def _result(name: str, make: Callable[..., CheckResult], text: str) -> CheckResult:
    """Returns a result with a shell command that removes a variable."""
    advice = "this is for the shell; also change the file that sets it, such as ~/.profile"
    return make(text, f"unset {name}", advice=advice)


def _plan_complaint(context: DoctorContext, name: str, value: str) -> str:
    """Returns what is wrong with the faults in a variable, or "" if nothing is wrong."""
    if name == "ACP_PROXY_FAULT":
        rules = [line for line in value.split("\n") if line.strip()]
        words = [word for rule in rules for word in ("--fault", rule)]
    elif name == "ACP_PROXY_FAULTS":
        words = ["--faults", value]
    else:
        return ""
    try:
        context.read_record([*words, "--", "agent"])
    except ValueError as e:
        return f"{name}: {e}; record does not start with this value"
    return ""


def _is_of_command(context: DoctorContext, name: str) -> bool:
    """Whether a variable's name, after the prefix, begins with the name of a command."""
    word = name.removeprefix(PREFIX).partition("_")[0].lower()
    return word in context.commands
