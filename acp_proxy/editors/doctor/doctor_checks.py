"""All checks of `doctor`, in the order in which they are shown."""

from collections.abc import Callable, Iterator, Mapping

from attrs import evolve

from acp_proxy import __version__
from acp_proxy.editors.doctor.client_settings import client_settings
from acp_proxy.editors.doctor.context import CheckResult, CheckStatus, DoctorContext, Examination
from acp_proxy.editors.doctor.installation import start_script, version
from acp_proxy.editors.doctor.leftovers import leftovers
from acp_proxy.editors.doctor.recordings_check import recordings_directory, running
from acp_proxy.editors.doctor.variables import variables

CHECKS: Mapping[str, Callable[[DoctorContext], Iterator[CheckResult]]] = {
    "version": version,
    "path": start_script,
    "recordings": recordings_directory,
    "variables": variables,
    "running": running,
    "clients": client_settings,
    "leftovers": leftovers,
}
"""The checks by their names. Each yields at least one result, and changes no file."""
_ORDER = [CheckStatus.OK, CheckStatus.WARNING, CheckStatus.ERROR]


def examine(context: DoctorContext) -> Examination:
    """Runs all checks and returns their results."""
    results = [
        evolve(each, check=name) for name, check in CHECKS.items() for each in check(context)
    ]
    return Examination(
        __version__,
        [*context.own],
        str(context.recordings),
        max((result.status for result in results), key=_ORDER.index),
        results,
    )
