"""How much of the recorded order is kept."""

from enum import StrEnum


class Order(StrEnum):
    """What is kept of the recorded order."""

    SESSION = "session"
    RECORDED = "recorded"
    CAUSAL = "causal"
