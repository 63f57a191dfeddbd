"""`doctor`, started as a program, changes no files and starts no agent."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tests.support.doctor_machine import configure, machine, program
from tests.support.log_writer import LogWriter, handshake, record_conversation

if TYPE_CHECKING:
    from pathlib import Path


def state(directory: Path) -> list[tuple[str, int, int, bytes]]:
    """Returns the modes of all files below a directory, and their contents and times."""
    return sorted(
        (str(path), 0 if path.is_dir() else path.lstat().st_mtime_ns,
         path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in directory.rglob("*")
    )  # fmt: skip


def test_nothing_is_changed_and_no_agent_is_started(tmp_path: Path, acp_proxy: Path) -> None:
    """`doctor` changes no file and starts no agent."""
    context = machine(tmp_path)
    program(tmp_path / "bin/agent", f"#!/bin/sh\ntouch {tmp_path}/started\n")
    configure(tmp_path, str(acp_proxy), "record", "--", f"{tmp_path}/bin/agent")
    record_conversation(context.recordings / "whole.db")
    with LogWriter(context.recordings / "killed.db") as killed:
        handshake(killed)
        killed.index()
    with LogWriter(context.recordings / "running.db") as running:
        handshake(running)
        before = state(tmp_path)
        environ = {k: v for k, v in os.environ.items() if not k.startswith(("ACP_PROXY_", "XDG_"))}
        environ["HOME"] = str(tmp_path)
        words = [str(acp_proxy), "doctor"]
        result = subprocess.run(words, env=environ, cwd=tmp_path, capture_output=True, text=True)
        assert state(tmp_path) == before
    assert result.stderr == ""
    assert f"Zed 'Mine': acp-proxy 0.1.0 records {tmp_path}/bin/agent\n" in result.stdout
    assert "✓ running     running: nothing is open\n" in result.stdout
    assert "! leftovers   the log of killed is not in its database yet" in result.stdout
    assert result.returncode == 0, result.stdout
