"""Runs ``python -m acp_proxy``."""

from acp_proxy.capture.starter import main

if __name__ == "__main__":
    main()
