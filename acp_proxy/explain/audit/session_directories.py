"""Reads the directories and the MCP servers of each session."""

import shlex
from typing import Any
from urllib.parse import urlsplit

from attrs import evolve

from acp_proxy.base.limits import LISTED, REMEMBERED_CALLS
from acp_proxy.explain.audit.audit_values import AuditedServer, AuditedSession
from acp_proxy.explain.audit.paths import cut
from acp_proxy.explain.describe.phrases import Value, part, parts, word
from acp_proxy.redaction.markers import MARKER


class SessionLog:
    """Collects the sessions of a recording from requests that open sessions, and their answers.

    Attributes:
        sessions: the sessions by id; at most the first 10,000.
    """

    def __init__(self) -> None:
        self.sessions: dict[str, AuditedSession] = {}
        self._opening: dict[int, tuple[AuditedSession, AuditedSession | None]] = {}

    def directories(self, session: str | None) -> list[str]:
        """Returns the directories of a session, the working directory first.

        The list is empty if the working directory is not known.
        """
        known = self.sessions.get(session or "")
        if known is None or known.cwd is None:
            return []
        return [known.cwd, *known.directories]

    def asked(self, exchange: int, seq: int, session: str | None, params: Value) -> None:
        """Adds a request that opens a session.

        Args:
            exchange: the number of the request's exchange.
            seq: the number of the request's frame.
            session: the id of the session; None if only the answer contains the id.
            params: the params of the request.
        """
        opening = AuditedSession(session or "", seq, _directory(params), _others(params))
        opening.mcp_servers = [_server(s, seq) for s in parts(params, "mcpServers")[:LISTED]]
        known = self.sessions.get(session or "")
        self._opening[exchange] = opening, None if known is None else evolve(known)
        if session is not None:  # the session's history may come before the answer
            self._keep(session, opening)

    def answered(self, exchange: int, session: str | None, result: Value | None) -> None:
        """Adds the answer to a request that opens a session.

        Args:
            exchange: the number of the request's exchange.
            session: the id of the session.
            result: the result. None for an error, which opens no session.
        """
        opening, before = self._opening.pop(exchange, (None, None))
        if opening is None or session is None:
            return
        if result is None:  # the request has no effect
            if before is not None:
                self.sessions[session] = before
            elif opening.id:
                self.sessions.pop(session, None)
            return
        opening.cwd = opening.cwd or _directory(result)  # session/load of the draft
        opening.directories = opening.directories or _others(result)
        self._keep(session, opening)

    def _keep(self, session: str, opening: AuditedSession) -> None:
        known = self.sessions.get(session)
        if known is None and len(self.sessions) < REMEMBERED_CALLS:
            known = self.sessions[session] = AuditedSession(session, opening.seq, None)
        if known is not None:
            known.seq = opening.seq
            known.cwd = opening.cwd or known.cwd
            known.directories = opening.directories or known.directories
            known.mcp_servers = opening.mcp_servers or known.mcp_servers


def _directory(value: Value) -> str | None:
    return word(value, "cwd", "workingDirectory") or None


def _others(value: Value) -> list[str]:
    folders = value.get("additionalDirectories")
    every = folders[:LISTED] if isinstance(folders, list) else []
    return [folder for folder in every if isinstance(folder, str) and folder]


def _server(server: Value, seq: int) -> AuditedServer:
    how = part(server, "transport") or server
    command = word(how, "command")
    arguments: Any = how.get("args")
    if command and isinstance(arguments, list):
        command = " ".join([command, *(shlex.quote(str(arg)) for arg in arguments[:LISTED])])
    url = word(how, "url", "agentUrl")
    return AuditedServer(
        name=cut(word(server, "name") or word(how, "serverId", "mcpServerName", "id")),
        type=cut(word(how, "type") or ("stdio" if command else "http" if url else "unknown")),
        command=cut(command) or None,
        url=cut(_without_secrets(url)) or None,
        seq=seq,
    )


def _without_secrets(url: str) -> str:
    """Returns a URL without user name and password. ``?…`` replaces its query and its fragment."""
    try:
        parts_ = urlsplit(MARKER.sub("masked", url))  # a marker's brackets are invalid in a URL
        host = parts_.netloc.rpartition("@")[2]
    except ValueError:
        return "(not a URL)"
    query = "?…" if parts_.query or parts_.fragment else ""
    return f"{parts_.scheme}://{host}{parts_.path}{query}" if parts_.scheme else parts_.path + query
