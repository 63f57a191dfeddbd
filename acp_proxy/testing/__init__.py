"""The parts of the pytest plugin; `acp_proxy.pytest_plugin` describes its use.

`agent` is the agent that a test gets, `options` has the options of the marker, `places` finds the
files of recordings, `runs` reads what each start of the agent left, `start` is the program of each
start, `keeping` stores new recordings, and `rehearsal` replays one to its own client. Nothing here
imports more than the standard library before it is needed.
"""
