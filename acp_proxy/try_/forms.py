"""The params of a client's requests in each dialect: v1, the draft of v2, and the 1.0 draft."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from acp_proxy import __version__
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.protocol.json_text import member

CLIENT = {"name": "acp-proxy try", "version": __version__}
"""The client's name and version, as ``initialize`` sends them."""
_NAME = re.compile(r'"\{(\w+)\}"')


def stored(name: str) -> Any:
    """Returns the content of a JSON file in the folder of this module.

    Args:
        name: the name of the file.
    """
    return json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


def filled(form: Any, known: Mapping[str, Any]) -> Any:
    """Returns a copy of a JSON value in which known values replace the strings ``{name}``.

    Args:
        form: the JSON value with the names.
        known: the value for each name. A string with an unknown name stays.
    """

    def meaning(match: re.Match[str]) -> str:
        return json.dumps(known[match[1]]) if match[1] in known else match[0]

    return json.loads(_NAME.sub(meaning, json.dumps(form)))


_FORMS = stored("forms.json")


@frozen
class Forms:
    """Makes the params of requests in one dialect, from the forms in ``forms.json``.

    Args:
        dialect: ``v1``, ``v2`` or ``draft-1.0``.
    """

    dialect: str

    def initialize(self, *, writes: bool) -> Any:
        """Returns the params of ``initialize``.

        Args:
            writes: whether the client offers to write files and to run terminals.
        """
        return self._message("initialize", client=CLIENT, writes=writes)

    def following(self, result: Any) -> "Forms":
        """Returns the forms for the protocol version in the agent's answer to ``initialize``.

        Args:
            result: the result of ``initialize``.
        """
        version = member(result, "protocolVersion")
        if self.dialect == DRAFT:
            return self
        return Forms({1: V1, 2: V2}.get(version, self.dialect))

    def session(self, cwd: str, servers: Sequence[Sequence[str]]) -> Any:
        """Returns the params of ``session/new``.

        Args:
            cwd: the absolute path of the directory to work in.
            servers: the commands of the MCP servers that the agent is asked to start.
        """
        made = [
            self._message("server", name=Path(program).name, program=program, args=args)
            for program, *args in servers
        ]
        return self._message("session", cwd=cwd, servers=made)

    def prompt(self, session: str, text: str) -> Any:
        """Returns the params of ``session/prompt``.

        Args:
            session: the id of the session.
            text: the text of the prompt.
        """
        return self._message("prompt", session=session, text=text)

    def _message(self, form: str, **known: Any) -> Any:
        return filled(_FORMS[self.dialect][form], known)
