"""A replay for a test runner: a JUnit test case for all of it, and for each lane that diverged."""

from acp_proxy.cli.render.junit import Case, Failure, lane_cases, suite
from acp_proxy.engine.agent.report import REPORTER, ReplayReport, headline


def junit(found: ReplayReport) -> str:
    """The report as JUnit XML; what is for information only fails no case."""
    lanes = lane_cases(f"replay.{found.recording}", found.divergences, REPORTER.lines_of)
    return suite(f"acp-proxy replay {found.recording}", [_whole(found), *lanes])


def _whole(found: ReplayReport) -> Case:
    is_incomplete = found.verdict == "incomplete"
    failure = Failure("incomplete", headline(found)) if is_incomplete else None
    return Case("replay", found.recording, failure)
