"""Runs the command line in this process, without colours and without a terminal's width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner, Result

from acp_proxy.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str | Path, home: Path | None = None, **environment: str | None) -> Result:
    """Runs ``acp-proxy`` with its recordings in ``home``; a variable that is None is not set.

    Raises:
        Exception: whatever it raises, since a traceback is never an answer.
    """
    env: dict[str, str | None] = {"NO_COLOR": None, "FORCE_COLOR": None}
    if home is not None:
        env["ACP_PROXY_RECORDINGS"] = str(home)
    runner = CliRunner(env=env | environment)
    return runner.invoke(
        cli,
        [str(argument) for argument in arguments],
        prog_name="acp-proxy",
        catch_exceptions=False,
    )


def complaint(*arguments: str | Path, home: Path | None = None, **environment: str) -> str:
    """Runs a command that has to fail as bad use does, and returns its one line on stderr."""
    result = run(*arguments, home=home, **environment)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("acp-proxy: ")
    assert result.stderr.endswith("\n")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("acp-proxy: ").rstrip("\n")
