"""Finds the sessions in whose directories a path is, for messages of the draft that name none.

Pure and incremental: what is remembered is stored with the state of the connection.
"""

from typing import Any

from attrs import define, field


@define
class SessionDirectories:
    """The directories of sessions."""

    directories: dict[str, list[str]] = field(factory=dict)
    """Of each session."""
    opening: dict[int, list[str]] = field(factory=dict)
    """Those that unanswered requests for a new session name, by exchange."""

    def asked(self, exchange: int, params: dict[str, Any], session: str | None) -> None:
        """Takes a request that opens a session.

        Args:
            exchange: its number.
            params: its params.
            session: the session that it opens, if that has an id already.
        """
        others = params.get("additionalDirectories")
        every = [params.get("workingDirectory"), params.get("cwd")]
        every += others if isinstance(others, list) else []
        named = [path for path in every if isinstance(path, str) and path]
        found = [path.rstrip("/\\") or path for path in named]
        if found and session is not None:
            self.directories[session] = found
        elif found:
            self.opening[exchange] = found

    def opened(self, exchange: int, session: str | None) -> None:
        """Takes the answer to such a request.

        Args:
            exchange: its number.
            session: the session that it names; None if it opened none.
        """
        found = self.opening.pop(exchange, None)
        if found is not None and session is not None:
            self.directories[session] = found

    def candidates(self, params: dict[str, Any]) -> list[str]:
        """The sessions in whose directories a message's path is; of nested ones the innermost."""
        for name in ("path", "cwd", "workingDirectory"):
            if isinstance(path := params.get(name), str) and (owners := self._owners(path)):
                return owners
        return []

    def _owners(self, path: str) -> list[str]:
        innermost, owners = 0, list[str]()
        for session, every in self.directories.items():
            depth = max((len(one) for one in every if _is_within(path, one)), default=0)
            if depth > innermost:
                innermost, owners = depth, [session]
            elif depth and depth == innermost:
                owners.append(session)
        return owners


def _is_within(path: str, directory: str) -> bool:
    inner = path.removeprefix(directory)
    is_whole = not inner or inner[0] in "/\\" or directory[-1] in "/\\"
    return path.startswith(directory) and is_whole
