"""The agent of a sweep: ``acp-proxy``, which first makes a file that shows that it was started.

Its report would not show that, since a client may kill its agent before there is one.
"""

import sys
from pathlib import Path

from acp_proxy.entry import main

if __name__ == "__main__":
    Path(sys.argv.pop(1)).touch()
    main()
