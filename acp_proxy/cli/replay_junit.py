"""A replay for a test runner: a JUnit test case for all of it, and for each lane that diverged."""

from collections.abc import Iterator

from acp_proxy.cli.junit import Case, Failure, suite
from acp_proxy.engine.divergence import Rank
from acp_proxy.engine.report import ReplayReport, headline, lines_of


def junit(found: ReplayReport) -> str:
    """The report as JUnit XML; what is for information only fails no case."""
    return suite(f"acp-proxy replay {found.recording}", [_whole(found), *_lanes(found)])


def _whole(found: ReplayReport) -> Case:
    is_incomplete = found.verdict == "incomplete"
    failure = Failure("incomplete", headline(found)) if is_incomplete else None
    return Case("replay", found.recording, failure)


def _lanes(found: ReplayReport) -> Iterator[Case]:
    for lane in sorted({one.lane for one in found.divergences if one.rank is not Rank.INFO}):
        told = [one for one in found.divergences if one.lane == lane]
        first = next((one for one in told if one.rank is Rank.PRIMARY), told[0])
        lines = [line for one in told for line in lines_of(one)]
        yield Case(f"replay.{found.recording}", lane, Failure(first.kind, first.summary, lines))
