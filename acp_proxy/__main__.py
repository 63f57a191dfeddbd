"""Runs ``python -m acp_proxy``."""

from acp_proxy.capture import leave_at_once

leave_at_once()

from acp_proxy.capture.starter import main  # noqa: E402

if __name__ == "__main__":
    main()
