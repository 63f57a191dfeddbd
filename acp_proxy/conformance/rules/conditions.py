"""Conditions under which the functions of some rules are called at all: see `Registry.rule`.

A peer may have written a message before it read one that stands earlier in the recording. What
follows within a moment is not charged, or not as an error.
"""

from acp_proxy.conformance.checked_message import CheckedMessage
from acp_proxy.conformance.conversation import Conversation

IN_FLIGHT_NS = 10_000_000
"""So soon after the other's message hardly any peer has read that: a pipe, and one wakeup."""
MOMENT_NS = 500_000_000
"""So long a busy peer may take to read it; after this it has."""


def is_early(seen: CheckedMessage, talk: Conversation) -> bool:
    """Whether the agent has not answered ``initialize`` yet.

    Args:
        seen: the message.
        talk: the conversation before it.
    """
    return talk.agent.announced is None


def is_while_opening(seen: CheckedMessage, talk: Conversation) -> bool:
    """Whether a session is being opened.

    Args:
        seen: the message.
        talk: the conversation before it.
    """
    return bool(talk.opening)


def has_stream_ended(seen: CheckedMessage, talk: Conversation) -> bool:
    """Whether a stream has ended.

    Args:
        seen: the message.
        talk: the conversation before it.
    """
    return bool(talk.ended_streams)


def has_metadata(seen: CheckedMessage, talk: Conversation) -> bool:
    """Whether a message may have ``_meta`` anywhere.

    Args:
        seen: the message.
        talk: the conversation before it.
    """
    return seen.message.raw is not None and b'"_meta"' in seen.message.raw


def is_first(seen: CheckedMessage, talk: Conversation) -> bool:
    """Whether a message is the first of its direction.

    Args:
        seen: the message.
        talk: the conversation before it.
    """
    return seen.direction not in talk.first
