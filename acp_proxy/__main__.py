"""Runs ``python -m acp_proxy``."""

if __name__ == "__main__":
    from acp_proxy.record.capture import leave_at_once

    leave_at_once()  # before slow imports

    from acp_proxy.entry import main

    main()
