"""The options of a comparison: what is compared, and what may differ."""

from enum import StrEnum

from attrs import frozen

from acp_proxy.filters import EVERYTHING, Filter


class Expect(StrEnum):
    """How much of the messages is compared."""

    FRAMES = "frames"
    """Everything except what differs between any two runs."""
    STRUCTURE = "structure"
    """The sequence of kinds and tool calls, without texts."""
    OUTCOME = "outcome"
    """Capabilities, stop reasons, and whether requests were answered or refused."""


@frozen
class DiffOptions:
    """How two recordings are compared.

    Attributes:
        expect: how much of the messages counts.
        exact: compare bytes: no stable names, nothing ignored, no chunks joined.
        ignored: JSON pointers that are left out, besides the documented ones; ``*`` in one is any
            key or item, ``**`` any number of them. What lies below one is left out, too.
        aliases: JSON pointers whose values get stable names, besides the documented ones.
        apart: kinds of session updates, and methods: where such a message stands among others of
            its sequence does not count.
        chosen: the frames that are compared.
        only: the direction that counts, where the other one is known to follow from it.
        ending: whether it counts how the agent ended.
        same: directories of B, and what they are in A, where that is known.
        pauses: periods of B, in nanoseconds since its start, in which its client caused the delay;
            exchanges that were open then are left out of the latencies.
    """

    expect: Expect = Expect.FRAMES
    exact: bool = False
    ignored: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    chosen: Filter = EVERYTHING
    only: str | None = None
    ending: bool = True
    same: tuple[tuple[str, str], ...] = ()
    pauses: tuple[tuple[int, int], ...] = ()

    @property
    def joins_texts(self) -> bool:
        """Whether texts count, but not how they are cut into chunks."""
        return not self.exact and self.expect is Expect.FRAMES
