"""The program that a test's client starts as its agent.

Its command is ``python -m acp_proxy.programs.tested_agent DIR``.

DIR/plan.json has the command to run. Each process takes the next free number N, and locks
DIR/N.lock until the process ends. It writes:

- DIR/N.json: the report, if it plays a replay;
- DIR/N.db: the recording, if it records;
- DIR/N.error: the reason, if it fails.

Arguments that a client adds for a real agent are ignored by a replay.
"""

import fcntl
import itertools
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any


def main() -> None:
    """Plays or records a conversation as DIR/plan.json says; exits with 2 after an error."""
    directory = Path(sys.argv[1])
    plan = json.loads((directory / "plan.json").read_text(encoding="utf-8"))
    if plan["mode"] == "replay":
        # The test may end a process whose lock it sees, so a signal waits until the replay can
        # report. A recorder does not block signals, since its agent would inherit the mask.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
    number = _take_number(directory)
    for name in [name for name in os.environ if name.startswith("ACP_PROXY_")]:
        del os.environ[name]  # settings for other uses must not change a test
    try:
        _run(_words(plan, directory, number))
    except Exception as e:  # an expected error has a message; any other needs a traceback
        reason = f"{e}" if hasattr(e, "exit_code") else traceback.format_exc()
        (directory / f"{number}.error").write_text(reason, encoding="utf-8")
        sys.stderr.write(f"acp-proxy: {reason}\n")
        raise SystemExit(2) from None


class _NotRecorded(Exception):
    exit_code = 2


def _take_number(directory: Path) -> int:
    """Takes the next free number, and holds its lock until this process ends."""
    for number in itertools.count(1):
        try:
            fd = os.open(directory / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        fcntl.lockf(fd, fcntl.LOCK_EX)
        os.write(fd, f"{os.getpid()}\n".encode())
        return number
    raise AssertionError("unreachable: numbers do not end")


def _words(plan: dict[str, Any], directory: Path, number: int) -> list[str]:
    if plan["mode"] == "record":
        where = ["-o", str(directory / f"{number}.db"), "--require-recording"]
        return ["record", *where, "--", *plan["agent"], *sys.argv[2:]]
    recordings = plan["recordings"]
    if len(recordings) > 1 and number > len(recordings):
        raise _NotRecorded(
            f"this is start {number} of the agent, but only {len(recordings)} starts were recorded"
        )
    recording = recordings[0] if len(recordings) == 1 else recordings[number - 1]
    report = ["--report", str(directory / f"{number}.json")]
    return ["replay", *plan["options"], *report, "--", recording]


def _run(words: list[str]) -> None:
    if words[0] == "record":
        from acp_proxy import entry

        sys.argv = ["acp-proxy", *words]
        entry.main()
        return
    from acp_proxy.cli.main import cli

    cli.main(words, prog_name="acp-proxy", standalone_mode=False)


if __name__ == "__main__":
    main()
