"""The one filter grammar: which frames a person means.

``dir:to-client method:session/* not kind:error (size:>10k or latency:>2s)``: terms side by side
must all hold, ``or`` and ``not`` and parentheses do what they say. A term is ``key:value`` or a
path into the message, ``params.update.sessionUpdate=tool_call``.

A filter is used in two ways. Its `condition` tells whoever keeps frames which ones to look at, and
may let through too much; `matches` is the exact answer for one row. Both are pure.
"""

from acp_proxy.filters.grammar import parse, terms_of
from acp_proxy.filters.terms import EVERYTHING, TERMS, Filter, all_of

__all__ = ["EVERYTHING", "TERMS", "Filter", "all_of", "parse", "terms_of"]
