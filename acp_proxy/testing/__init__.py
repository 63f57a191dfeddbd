"""What the pytest plugin is made of; `acp_proxy.pytest_plugin` says how it is used.

`agent` is what a test sees, `options` what a marker may say, `places` where recordings are, `runs`
what each start of the agent left, `start` the program that each start is, `keeping` makes
recordings, and `rehearsal` plays one against its own client, without any process. Nothing here
imports more than the standard library before it is needed.
"""
