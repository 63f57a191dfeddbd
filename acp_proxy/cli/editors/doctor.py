"""``acp-proxy doctor``: what is installed, configured and running, and what is wrong with it."""

import sys
import time
from collections.abc import Iterator, Sequence

import click
from attrs import evolve

from acp_proxy.base.errors import AcpProxyError
from acp_proxy.base.wording import counted, did_you_mean
from acp_proxy.cli.editors.own_command import is_temporary, own_command, this_machine
from acp_proxy.cli.editors.setup_screen import masker
from acp_proxy.cli.group import cli_command, recordings
from acp_proxy.cli.inspect import INSPECT
from acp_proxy.cli.masking import is_unredacted, unredacted_option
from acp_proxy.cli.removed import of_variable
from acp_proxy.cli.screens.output import Page, say_json, stdout_screen, with_verdict
from acp_proxy.cli.screens.styled_text import Ink, Piece, Screen, piece
from acp_proxy.editors.doctor.context import CheckResult, CheckStatus, DoctorContext, Examination
from acp_proxy.editors.doctor.doctor_checks import examine
from acp_proxy.record.capture.record_options import RECORD, Ignored

_COMMANDS = frozenset({*INSPECT, "replay", "verify", "faults"})

_LABEL = 12
_MOST = 10
"""The largest number of results of one check that are shown."""
_MARKS: dict[CheckStatus, tuple[str, Ink]] = {
    CheckStatus.OK: ("✓", Ink.TO_CLIENT),
    CheckStatus.WARNING: ("!", Ink.STDERR),
    CheckStatus.ERROR: ("✗", Ink.TROUBLE),
}


@cli_command()
@click.option("--json", is_flag=True, allow_from_autoenv=False, help="Print one JSON object.")
@unredacted_option
@with_verdict
def doctor(json: bool) -> None:
    """Check what is installed, configured and running, and what is wrong with it.

    Each line has a mark: ✓ if all is well, ! for something worth knowing, ✗ for something wrong.
    The line below tells how to fix it. The exit code is 1 if something is wrong. The command starts
    no agent and changes no file.

    Examples:
      acp-proxy doctor
      acp-proxy doctor --json | jq -r '.results[] | select(.status == "error").text'
    """
    machine = this_machine()
    own = own_command(machine)
    context = DoctorContext(
        machine, own, is_temporary(own), recordings(), read_record, _COMMANDS, of_variable,
        time.time(), time.monotonic_ns(), is_unredacted(),
    )  # fmt: skip
    results = masked(examine(context))
    if json:
        say_json(results)
    else:
        show_examination(results)
    if results.status is CheckStatus.ERROR:
        sys.exit(1)


def read_record(arguments: Sequence[str]) -> list[str]:
    """Parses arguments of ``record``; returns the agent's command. Ignores environment variables.

    Raises:
        ValueError: the arguments are wrong.
    """
    from acp_proxy.cli.record import record
    from acp_proxy.faults.plan import chosen_plan

    context = click.Context(record, **record.context_settings)
    try:
        values, _, _ = record.make_parser(context).parse_args([*arguments])
        for option in RECORD:
            text = values.get(option.attribute)
            if isinstance(text, str) and isinstance(result := option.value(text, option.flag), str):
                _refuse_ignored(result)
        plan = values.get("faults")
        if plan is not None and not plan.startswith(("/", "@")):
            plan = None  # a relative path, which only the client's directory resolves
        chosen_plan(values.get("fault") or (), plan, None)
    except click.NoSuchOption as e:
        near = did_you_mean(e.option_name, e.possibilities or [])
        raise ValueError(f"`record` has no option {e.option_name!r}{near}") from None
    except click.UsageError as e:
        text = e.format_message().rstrip(".")
        raise ValueError(f"{text[:1].lower()}{text[1:]}") from None
    except AcpProxyError as e:
        raise ValueError(str(e)) from None
    command = values.get("command")
    if not isinstance(command, tuple) or not command:
        raise ValueError("there is no agent after record")
    return [*command]


def _refuse_ignored(value: str) -> None:
    if isinstance(value, Ignored):
        raise ValueError(value)


def masked(examination: Examination) -> Examination:
    """Returns an examination with its secrets masked; unchanged if ``--unredacted`` is given."""
    mask = masker()
    results = [
        evolve(
            result,
            text=mask.text(result.text),
            advice=mask.text(result.advice),
            commands=[mask.text(command) for command in result.commands],
        )
        for result in examination.results
    ]
    return evolve(
        examination,
        command=[mask.text(word) for word in examination.command],
        recordings=mask.text(examination.recordings),
        results=results,
    )


def show_examination(examination: Examination) -> None:
    """Prints all results.

    Args:
        examination: the results, with secrets masked.
    """
    page = Page(stdout_screen())
    label, count = "", 0
    for result in examination.results:
        count = count + 1 if result.check == label else 1
        shown = result.check if count == 1 else ""
        label = result.check
        if count > _MOST:
            if count == _MOST + 1:
                page.print(piece(" " * (_LABEL + 2)), piece("... --json prints all", Ink.FAINT))
            continue
        page.lines(_lines(result, shown, page.screen))
    page.line("")
    page.wrap(*_total(examination))
    page.flush()


def _lines(result: CheckResult, label: str, screen: Screen) -> Iterator[str]:
    """Yields the lines of a result. Only the first result of a check has a label."""
    mark, ink = _MARKS[result.status]
    indent = piece(" " * (_LABEL + len(mark) + 1))
    first, *rest = screen.wrapped(indent, piece(result.text))
    head = screen.paint(piece(mark, ink, bold=True)) + f" {label.ljust(_LABEL)}"
    yield head + first[len(indent[0]) :]
    yield from rest
    if result.advice:
        yield from screen.wrapped(indent, piece(result.advice, Ink.FAINT))
    for command in result.commands:
        # A command that is wrapped cannot be copied.
        yield screen.whole(indent, piece(command, bold=True))


def _total(examination: Examination) -> list[Piece]:
    wrong = sum(result.status is CheckStatus.ERROR for result in examination.results)
    worth = sum(result.status is CheckStatus.WARNING for result in examination.results)
    verdict = piece(f"✗ {counted(wrong, 'problem')}", Ink.TROUBLE, bold=True)
    if not wrong:
        verdict = piece("✓ no problems", Ink.TO_CLIENT, bold=True)
    return [verdict, piece(f", {counted(worth, 'note')}" if worth else "")]
