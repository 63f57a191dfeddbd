"""The agent of a sweep: ``acp-proxy``, which first creates a file to show that it was started.

The report of the replay cannot show the start: a client may kill its agent before the report
exists.
"""

import sys
from pathlib import Path

from acp_proxy.entry import main

if __name__ == "__main__":
    Path(sys.argv.pop(1)).touch()
    main()
