"""An agent that uses other words in each run, and may also behave differently.

The first argument is a file in which the agent counts its runs. The second argument names a
difference of behaviour: in all runs except the first, or in all runs if the name ends with ``!``.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

from tests.agents.plain_agent import Agent, RefusedError, Session, main

WORDS = ["I", "will", "look", "at", "the", "file", "now", "and", "then", "tell", "you", "more"]


class Model(Agent):
    """An agent that sends texts of random words, and reads a file with a tool.

    Attributes:
        run_number: the number of the run, from 1.
        odd: the name of the difference in this run; empty for no difference.
    """

    def __init__(self, lines: Any, out: Any) -> None:
        super().__init__(lines, out)
        counter = Path(sys.argv[1])
        self.run_number = int(counter.read_text()) + 1 if counter.exists() else 1
        counter.write_text(str(self.run_number))
        odd = "".join(sys.argv[2:])
        self.odd = odd.rstrip("!") if self.run_number > 1 or odd.endswith("!") else ""
        self._random = random.Random(self.run_number)

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answers ``initialize``; the version contains the number of the run."""
        answer = super().initialize(params)
        answer["agentInfo"]["version"] = f"1.{self.run_number}"
        return answer

    def name_session(self, number: int) -> str:
        """Returns a session id that differs in each run."""
        return f"session-{self._random.randrange(10**9)}-{number}"

    def words(self) -> list[str]:
        """Returns random words for a sentence."""
        return [f"{self._random.choice(WORDS)} " for _ in range(self._random.randrange(3, 9))]

    def hello(self, session: Session) -> str:
        """Answers a prompt in random words; all other behaviour depends only on `odd`."""
        thoughts = self.words()
        for word in thoughts:
            self.update(session, "agent_thought_chunk", content={"text": word, "type": "text"})
        self.say(session, *self.words())
        call = f"call-{self._random.randrange(10**9)}"
        title = "".join(self.words())
        if self.odd == "error":
            raise RefusedError("Internal error", {})
        kind = "fetch" if self.odd == "kind" else "read"
        self.update(session, "tool_call", toolCallId=call, title=title, kind=kind, status="pending")
        if self.odd == "permission":
            self._ask_permission(session, {"toolCallId": call, "title": title, "kind": kind})
        self.update(session, "tool_call_update", toolCallId=call, status="completed")
        self.say(session, *self.words())
        self.update(session, "usage_update", used=self._random.randrange(10**4), size=10**5)
        self.say(session, "Goodbye." if self.odd == "last" else "The last words are the same.")
        return "max_tokens" if self.odd == "stop" else "end_turn"


if __name__ == "__main__":
    main(Model)
