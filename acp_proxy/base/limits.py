"""Size limits that several rooms share, one for each purpose.

All these limits are our own choice; limits of formats and algorithms are in other modules. This
module imports nothing, since the recorder loads it first.
"""

# Bytes per read.
CHUNK = 64 << 10
"""The most bytes that a recorder reads at once."""
PIECE = 1 << 20
"""The most bytes of a long value that are read or written at once."""
READ_AHEAD = 1 << 20
"""If a text continues in later lines: the most bytes of these lines that are read for masking."""

# Lines that are read as a whole or in part.
LINE_EDGE = 64 << 10
"""For a line that is too large to be read whole: the number of bytes that are read at each end."""
LOG_HEAD = 64 << 10
"""The number of bytes at the beginning of a file that are read to recognize another tool's log."""
SMALL_LINE = 1 << 20
"""The longest line, in bytes, that is parsed as a whole by code that has to be fast."""
LARGE_LINE = 2 << 20
"""The longest line, in bytes with its newline, that is parsed as a whole."""
WHOLE_LINE = 4 << 20
"""The longest line, in bytes, that is parsed as a whole to describe its message."""
PREVIEWED_LINE = 8_000_000
"""The longest line, in bytes, that a preview reads whole. Of a longer line, a preview reads only
the beginning."""
PLAYED_LINE = 64 << 20
"""The longest line, in bytes, that is played. To send a line takes three times its size in
memory."""
LINE_WITHOUT_END = 256 << 20
"""The largest number of bytes without a newline that are stored as one line."""

# Values and files that are read as a whole.
LABEL = 4 << 20
"""The most bytes of a label, or of a recording's metadata. Recorders never write longer labels."""
WHOLE_VALUE = 16 << 20
"""The largest value of a database, in bytes, that is read as a whole."""
PLAN_FILE = 1_000_000
"""The largest plan of faults that is read, in bytes."""
SETTINGS_FILE = 16 << 20
"""The largest settings file of a client that is read, in bytes."""

# Memory.
WAITING_BYTES = 1 << 20
"""The most bytes of frames that may wait to be sent at one time."""
COMPARED_TEXT = 1 << 18
"""The most characters of a text that are kept in memory and aligned as a whole."""
KEPT_CONTENTS = 64 << 20
"""The most characters of file contents that a verification keeps in memory."""

# Numbers.
SAFE_NUMBER = 1 << 53
"""The smallest integer that a tool could change by reading JSON numbers as doubles."""
LAST_NUMBER = (1 << 63) - 1
"""The largest number in a database column; the number of a frame is always lower."""

# Characters of a text that are shown; the rest is cut.
PHRASE = 60
"""The most characters of a text that a sentence quotes."""
RULE_NAME = 80
"""The most characters that are shown of a rule's name."""
STRING = 120
"""The most characters that are shown of a string inside an object."""
TITLE = 200
"""The most characters that are shown of a title, a command or an excerpt."""
SENTENCE = 300
"""The most characters that are shown of an error's message, or of another explanation."""
DESCRIPTION = 500
"""The most characters of the description of a message; also the most bytes that are shown of the
message."""
SHOWN_VALUE = 1000
"""The most characters that are shown of a value that is not shortened to a summary."""
SHOWN_LINE = 2000
"""The most characters that are shown of a line of text, a path, a command or a match."""
SHOWN_FRAME = 1 << 20
"""The most characters that are written of a whole frame; later characters are cut."""
SHOWN_BYTES = 16 << 10
"""The most bytes that a report shows of a fault's delivery; later bytes are cut."""

# Items that are listed; the others are at most counted.
NAMED = 3
"""The most items that a sentence names."""
EXAMPLES = 5
"""The most items of each kind that are named as examples."""
SHORT_LIST = 20
"""The most items of one list among many lists, such as the remarks at one message."""
PARTS = 50
"""The most parts, such as options or paths, that are listed of one message or tool call."""
LISTED = 100
"""The most items of one kind that are listed: findings, turns, requests, questions or servers."""
BLOCKS = 200
"""The most blocks or items that are listed in one entry of a transcript."""
LONG_LIST = 1000
"""The most items of a list that may be long: lines of a text, words of a command, or events."""

# Entries in memory.
CANDIDATES = 50
"""The most recorded messages that are compared with a live message to find similar ones."""
REMEMBERED = 1000
"""The most entries that a table remembers, such as a table of sessions or of divergences."""
CACHED = 4096
"""The most entries of a cache."""
REMEMBERED_CALLS = 10_000
"""The most tool calls, sessions, terminals or failures of a recording that are remembered."""
KEPT_ACTIONS = 100_000
"""The most actions or tool calls of a recording that are kept; later ones are only counted."""
CHECKED_FRAMES = 20_000
"""The most frames whose messages a report checks for broken rules; `check` checks all frames."""
