"""The filter grammar, which describes a set of frames.

An example is ``dir:to-client method:session/* not kind:error (size:>10k or latency:>2s)``. A frame
must match all terms. A filter can also combine terms by ``or``, ``not`` and parentheses. A term is
``key:value``, or a path into the message and a value, such as
``params.update.sessionUpdate=tool_call``.

The store uses a filter in two steps. The `condition` selects candidates, and `matches` decides for
each candidate row. Neither step does I/O.
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
