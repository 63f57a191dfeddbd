"""An agent that writes the lines of a script, and waits for a line where the client has one.

The argument is the path of the script: JSON lines, each with a side and a line in Base64. Further
arguments are ignored. The program imports only the standard library.
"""

from __future__ import annotations

import base64
import json
import os
import sys


def main() -> None:
    """Plays the script, and reads until the input ends."""
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
