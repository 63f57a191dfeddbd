"""Reads the secrets to send instead of a recording's markers."""

import os
import re

from attrs import field, frozen

from acp_proxy.base.limits import EXAMPLES
from acp_proxy.base.wording import listed
from acp_proxy.cli.group import Refusal
from acp_proxy.cli.screens.output import warn
from acp_proxy.playback.verify.recorded_client import FilledScript, RecordedClient, markers_to_send

_GIVEN = re.compile(
    r"(?P<marker>\[?(?:redacted:)?(?:[a-z]+:)?(?P<hash>[0-9a-f]{8})\]?)=(?P<variable>\w+)", re.ASCII
)


@frozen
class GivenSecrets:
    """The secrets that replace markers."""

    values: dict[str, str] = field(factory=dict, repr=False)
    """The secrets, each with its marker."""
    variables: dict[str, str] = field(factory=dict)
    """The environment variables that hold the secrets, each with the marker of its secret."""


def fill(
    script: FilledScript,
    client: RecordedClient,
    options: tuple[str, ...],
    *,
    are_for_many: bool = False,
    are_listed: bool = True,
) -> GivenSecrets:
    """Fills in the given secrets, and lists on stderr the markers that will be sent unchanged.

    Args:
        script: the recorded messages, whose markers are replaced.
        client: the recorded client, which sends the messages.
        options: ``MARKER=VARIABLE``, as the user gave them.
        are_for_many: whether some options may be about markers of other recordings.
        are_listed: whether to list markers on stderr.

    Raises:
        Refusal: a marker or a variable does not exist.
    """
    if script.redaction not in ("secrets", "private") and not options:
        return GivenSecrets()
    markers = markers_to_send(client)
    secrets, by_hash = GivenSecrets(), {}
    for option in options:
        if (match := _GIVEN.fullmatch(option)) is None:
            raise Refusal(f"expected MARKER=VARIABLE, such as env:ab12cd34=API_KEY, got {option}")
        marker, variable = markers.get(match["hash"]), match["variable"]
        if marker is None and are_for_many:
            continue
        if marker is None:
            raise Refusal(
                f"no message of the recorded client has the marker {match['marker']};"
                " `acp-proxy secrets` lists the markers of a recording"
            )
        if not (value := os.environ.get(variable)):
            raise Refusal(f"expected a value for {marker}: {variable} is not set")
        by_hash[match["hash"]] = value
        secrets.values[value] = secrets.variables[variable] = marker
    script.fill(by_hash)
    if are_listed and (left := [marker for name, marker in markers.items() if name not in by_hash]):
        warn(
            f"sent unchanged: {listed(left, EXAMPLES)};"
            " to send the value of an environment variable in place of a marker, use --secret"
        )
    return secrets
