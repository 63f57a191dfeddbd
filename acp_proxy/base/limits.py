"""Size limits that several rooms share, one for each purpose.

All these limits are our own choice. A limit that a format or an algorithm imposes is in the module
of the format or algorithm. This module imports nothing, so that the recorder can use it before
anything else is loaded.
"""

# Bytes per read.
CHUNK = 64 << 10
"""Bytes that a recorder reads at once."""
PIECE = 1 << 20
"""Bytes of a long value that are read or written at once."""
READ_AHEAD = 1 << 20
"""Bytes of later lines that are read to mask a text that continues in them."""

# Lines that are read as a whole or in part.
LINE_EDGE = 64 << 10
"""Bytes that are read at either end of a line that is too large to be read as a whole."""
LOG_HEAD = 64 << 10
"""Bytes that are read to recognize another tool's log."""
SMALL_LINE = 1 << 20
"""Bytes of the longest line that is parsed as a whole by code that has to be fast."""
LARGE_LINE = 2 << 20
"""Bytes, newline included, of the longest line that is parsed as a whole, not only at its edges."""
WHOLE_LINE = 4 << 20
"""The size in bytes of the longest line that is parsed whole when it is described."""
PREVIEWED_LINE = 8_000_000
"""Bytes of the longest line that a preview reads as a whole; of a longer line it reads the
beginning."""
PLAYED_LINE = 64 << 20
"""Bytes of the largest line that is played; sending a line takes about three times its memory."""
LINE_WITHOUT_END = 256 << 20
"""The largest number of bytes without a newline that are stored as one line."""

# Values and files that are read as a whole.
LABEL = 4 << 20
"""Bytes of a label, or of a recording's metadata. A recorder parses at most 2 MB of a line as JSON,
so it never writes a longer label."""
WHOLE_VALUE = 16 << 20
"""Bytes of the largest value of a database that is read as a whole."""
PLAN_FILE = 1_000_000
"""Bytes of the largest plan of faults."""
SETTINGS_FILE = 16 << 20
"""Bytes of the largest settings file of a client that is read."""

# Memory.
WAITING_BYTES = 1 << 20
"""Bytes of frames that may wait to be sent."""
COMPARED_TEXT = 1 << 18
"""Characters of a text that are kept in memory and aligned as a whole."""
KEPT_CONTENTS = 64 << 20
"""Characters of file contents that a verification keeps."""

# Numbers.
SAFE_NUMBER = 1 << 53
"""The smallest number that a tool may change if the tool reads JSON numbers as doubles."""
LAST_NUMBER = (1 << 63) - 1
"""The largest number in a database column; the number of a frame is always lower."""

# Characters of a text that are shown; the rest is cut.
PHRASE = 60
"""Characters of a text that is quoted within a sentence."""
RULE_NAME = 80
"""Characters of the name of a rule."""
STRING = 120
"""Characters of a string among the members of a described object."""
TITLE = 200
"""Characters of a title, a command or an excerpt."""
SENTENCE = 300
"""Characters of an error's message, or of another text that explains something."""
DESCRIPTION = 500
"""Characters of a line that describes a message, or bytes of the message itself."""
SHOWN_VALUE = 1000
"""Characters of a value that is shown unchanged."""
SHOWN_LINE = 2000
"""Characters of a shown line of text, or of a shown path, command or match."""
SHOWN_FRAME = 1 << 20
"""Characters of a whole frame that are written before the rest is cut."""
SHOWN_BYTES = 16 << 10
"""Bytes of a fault's delivery that a report shows; the rest is cut."""

# Items that are listed; the others are at most counted.
NAMED = 3
"""Items that a sentence names."""
EXAMPLES = 5
"""Items of each kind that are named as examples."""
SHORT_LIST = 20
"""Items of one list among many, such as the remarks at one message."""
PARTS = 50
"""Parts of one message or tool call: options, paths, items of content, values that differ."""
LISTED = 100
"""Items of a kind: findings, turns, requests, questions, servers."""
BLOCKS = 200
"""Blocks or items of one entry of a transcript."""
LONG_LIST = 1000
"""Items of a list that may be long: lines of a text, words of a command, events."""

# Entries in memory.
CANDIDATES = 50
"""Messages that are compared to find the most similar messages."""
REMEMBERED = 1000
"""Entries of a table: sessions, terminals, tool calls of a session, divergences, secrets."""
CACHED = 4096
"""Entries of a cache, such as the results for one place in a message."""
REMEMBERED_CALLS = 10_000
"""Tool calls, sessions, terminals or failures of a recording that are remembered."""
KEPT_ACTIONS = 100_000
"""Actions or tool calls of a recording that are kept; later ones are only counted."""
CHECKED_FRAMES = 20_000
"""Frames whose messages a report checks for broken rules; `check` checks all frames."""
