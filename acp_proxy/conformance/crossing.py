"""How long two messages that go opposite ways may have been on their way at the same time.

A peer may have written a message before it read one that stands earlier in the recording. What
follows within a moment is not charged, or not as an error.
"""

IN_FLIGHT_NS = 10_000_000
"""So soon after the other's message hardly any peer has read that: a pipe, and one wakeup."""
MOMENT_NS = 500_000_000
"""So long a busy peer may take to read it; after this it has."""
