"""The methods of ACP that mean something to acp-proxy itself."""

from acp_proxy.protocol.dialects import INITIALIZE

CANCEL, CANCEL_REQUEST = "session/cancel", "$/cancel_request"
PROMPT = "session/prompt"
PERMISSION = "session/request_permission"
FORK = "session/fork"
"""Its request has the id of the original session, and its response that of the new one."""
PUSH = "terminal/output"
"""In the 1.0 draft a request with which the client pushes a terminal's output. In v1 a request with
which the agent asks for it."""
HANDSHAKE = (*INITIALIZE, "authenticate", "auth/login")
