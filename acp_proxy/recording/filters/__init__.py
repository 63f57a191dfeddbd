"""The filter grammar, which describes a set of frames.

In ``dir:to-client method:session/* not kind:error (size:>10k or latency:>2s)`` all terms must
match; ``or``, ``not`` and parentheses combine them. A term is ``key:value`` or a path into the
message, ``params.update.sessionUpdate=tool_call``.

A filter has two uses. Its `condition` selects the frames to look at, possibly too many; `matches`
is the exact answer for one row. Both are pure.
"""

from acp_proxy.recording.filters.filter_conditions import UNREAD, Known
from acp_proxy.recording.filters.filter_grammar import parse, terms_of, tokens_of
from acp_proxy.recording.filters.filter_terms import EVERYTHING, TERMS, Filter, all_of

__all__ = [
    "EVERYTHING",
    "TERMS",
    "UNREAD",
    "Filter",
    "Known",
    "all_of",
    "parse",
    "terms_of",
    "tokens_of",
]
