"""An agent that writes the lines of a script, and reads a line wherever the client writes one.

Run it by its path with the script, JSON lines of a side and a line in base64; what follows in its
command is not read. Standard library only.
"""

from __future__ import annotations

import base64
import json
import os
import sys


def main() -> None:
    """Follows the script, then reads until the end of the input."""
    with open(sys.argv[1], encoding="utf-8") as script:
        for step in map(json.loads, script):
            side, line = step[0], base64.b64decode(step[1])
            if side == "client":
                if not sys.stdin.buffer.readline():
                    return
                continue
            while line:
                line = line[os.write(2 if side == "stderr" else 1, line) :]
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
