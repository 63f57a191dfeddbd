"""A recording in which secrets stand in place of markers, to be sent to a live agent.

Only what is sent to the agent, and what it may be granted, is taken from it; whatever is reported
or recorded is masked again.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache

from acp_proxy.engine.client.recorded_client import RecordedClient
from acp_proxy.engine.shared.steps import Script, Step, Wire
from acp_proxy.redaction.markers import MARKER_BYTES


class FilledScript:
    """Implements `engine.shared.steps.Script`.

    Args:
        script: the recording.
        secrets: the value of each marker that has one, by its hash.
    """

    def __init__(self, script: Script, secrets: Mapping[str, str] | None = None) -> None:
        self._script = script
        self.fill(secrets or {})
        self.agent_left_at = script.agent_left_at
        self.dialect = script.dialect
        self.redaction = script.redaction

    def fill(self, secrets: Mapping[str, str]) -> None:
        """Sets the value of each marker that has one, by its hash."""
        values = {
            name.encode(): json.dumps(value)[1:-1].encode() for name, value in secrets.items()
        }

        @lru_cache(8)  # a batch is asked for anew for each of its messages
        def filled(raw: bytes) -> bytes:
            return MARKER_BYTES.sub(lambda found: values.get(found[2], found[0]), raw)

        self._filled = filled

    def read(self) -> list[Step]:
        """Returns the next steps in recorded order; none at the end."""
        return self._script.read()

    def wire(self, seq: int) -> Wire:
        """Returns a frame with secrets."""
        wire = self._script.wire(seq)
        return wire._replace(raw=self._filled(wire.raw))

    def later(self, method: str | None, kind: str, after: int) -> Iterator[Step]:
        """Finds messages of the client beyond what was read.

        Args:
            method: their method.
            kind: their kind.
            after: the number after which they were recorded.
        """
        return self._script.later(method, kind, after)


def markers_to_send(recording: RecordedClient) -> dict[str, str]:
    """Returns the markers in the frames of the client, by their hashes, lane by lane."""
    found: dict[str, str] = {}
    for lane in recording.lanes.values():
        for frame in (*lane.queue.frames, *lane.queue.answers.values()):
            for marker in MARKER_BYTES.finditer(recording.script.wire(frame.seq).raw):
                found.setdefault(marker[2].decode(), marker[0].decode())
    return found
