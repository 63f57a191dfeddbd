"""A recording in which secrets stand in place of markers, to be sent to a live agent.

Only what is sent to the agent, and what it may be granted, is taken from it; whatever is reported
or recorded is masked again.
"""

import json
from collections.abc import Iterator, Mapping

from acp_proxy.engine.shared.steps import Script, Step, Wire
from acp_proxy.redaction.markers import MARKER_BYTES


class FilledScript:
    """Implements `engine.shared.steps.Script`.

    Args:
        script: the recording.
        secrets: the value of each marker that has one, by its hash.
    """

    def __init__(self, script: Script, secrets: Mapping[str, str]) -> None:
        self._script = script
        self._secrets = {
            name.encode(): json.dumps(value)[1:-1].encode() for name, value in secrets.items()
        }
        self.agent_left_at = script.agent_left_at
        self.dialect = script.dialect
        self.redaction = script.redaction

    def read(self) -> list[Step]:
        """Returns the next steps in recorded order; none at the end."""
        return self._script.read()

    def wire(self, seq: int) -> Wire:
        """Returns a frame with secrets."""
        wire = self._script.wire(seq)
        raw = MARKER_BYTES.sub(lambda found: self._secrets.get(found[2], found[0]), wire.raw)
        return wire._replace(raw=raw)

    def later(self, method: str | None, kind: str, after: int) -> Iterator[Step]:
        """Finds messages of the client beyond what was read.

        Args:
            method: their method.
            kind: their kind.
            after: the number after which they were recorded.
        """
        return self._script.later(method, kind, after)


def markers_to_send(script: Script, seqs: Iterator[int]) -> dict[str, str]:
    """Returns the markers in frames, by their hashes, in the order in which they come.

    Args:
        script: the recording.
        seqs: the numbers of the frames.
    """
    found: dict[str, str] = {}
    for seq in seqs:
        for marker in MARKER_BYTES.finditer(script.wire(seq).raw):
            found.setdefault(marker[2].decode(), marker[0].decode())
    return found
