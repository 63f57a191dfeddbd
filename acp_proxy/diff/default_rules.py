"""Lists the places and phrases whose values differ between any two runs of a scenario.

`protocol/vocabulary.py` has the places that the protocol defines. This module adds the places that
real agents use. `docs/diff.md` lists all of them.
"""

import re

from acp_proxy.diff.place_rules import PlaceRule
from acp_proxy.protocol.json_text import parts_of
from acp_proxy.protocol.vocabulary import Role, pointers
from acp_proxy.redaction.markers import MARKER

SESSION, CALL, TERMINAL, MESSAGE, PATH = "session", "call", "term", "message", "path"
PLAN, STEP, ELICITATION, CONNECTION = "plan", "step", "elicitation", "connection"
REQUEST, TURN, PROCESS, UUID, OUTPUT = "request", "turn", "process", "uuid", "output"
SECRET = "secret"

NAMED = "value"
"""The kind of the values at places that the user names."""

GLOBAL = (SESSION, PATH, SECRET)
"""Kinds of values that are valid in all sessions."""

_KINDS: dict[str, tuple[Role, ...]] = {
    SESSION: (Role.SESSION,),
    PATH: (Role.ROOT, Role.DIRECTORY),
    CALL: (Role.CALL,),
    TERMINAL: (Role.TERMINAL,),
    MESSAGE: (Role.MESSAGE,),
    PLAN: (Role.PLAN,),
    STEP: (Role.STEP,),
    ELICITATION: (Role.ELICITATION,),
    CONNECTION: (Role.CONNECTION,),
    REQUEST: (Role.REQUEST,),
}
"""The kinds of stable names. Each kind has roles of the protocol's vocabulary: the values at the
places with these roles get a name of this kind."""

_ADDED: dict[str, tuple[str, ...]] = {
    TURN: ("/params/**/turn_id", "/params/**/turnId"),
    PROCESS: ("/params/**/pid", "/params/**/process_id", "/params/**/processId", "/result/**/pid"),
}
"""Places that real agents use and the protocol does not define, by the kind of their values."""

_TIMES = (
    "updatedAt",
    "createdAt",
    "startedAt",
    "completedAt",
    "endedAt",
    "startTime",
    "endTime",
    "lastModified",
    "timestamp",
    "updated_at",
    "created_at",
    "started_at",
    "completed_at",
    "started_at_ms",
    "completed_at_ms",
    "startedAtMs",
    "completedAtMs",
    "durationMs",
    "duration_ms",
    "elapsedMs",
    "elapsed_ms",
)
"""Members that are times or durations at any place."""

RULES = (
    PlaceRule("/params/update/rawOutput/**/duration"),
    PlaceRule("/params/update/cost/amount"),
    *(PlaceRule(pointer) for pointer in pointers(Role.CUTTING)),
    *(PlaceRule(f"/**/{name}", is_time=True) for name in _TIMES),
    *(
        PlaceRule(pointer, is_time=True)
        for pointer in pointers(Role.TIME)
        if parts_of(pointer)[-1] not in _TIMES
    ),
    *(PlaceRule(pointer, kind) for kind, roles in _KINDS.items() for pointer in pointers(*roles)),
    *(PlaceRule(pointer, kind) for kind, places in _ADDED.items() for pointer in places),
)
"""The default rules. A UUID gets a name at any place, without a rule."""

PHRASES = {
    OUTPUT: ("Chunk ID: ", re.compile(r"\bChunk ID: ([0-9a-f]{6})\b")),
    SECRET: ("[redacted:", re.compile(f"({MARKER.pattern})")),
    PROCESS: (") panicked at ", re.compile(r"\bthread '[^'\n]*' \((\d+)\) panicked at ")),
}
"""Values inside texts, by kind: the words beside a value, and the pattern that finds the value."""

TITLES = ("/params/update/title", "/result/sessions/*/title")
"""The places of session titles in messages of the types in `TITLED`. Agents cut titles, so the
length of a directory inside a title decides where the title ends."""

RUNNING = ("terminal/create",)
"""Types of items in which the rules for places of directories do not apply."""

TITLED = ("session/update session_info_update", "the answer to session/list")
"""Types of items that contain titles of sessions."""

LOOKING = ("read", "search", "fetch")
"""Kinds of tool calls that change nothing. Their order does not matter."""

READING = ("fs/read_text_file", "the answer to fs/read_text_file")
"""Types of items that only read files."""
