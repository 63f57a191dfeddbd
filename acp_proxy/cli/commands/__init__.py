"""The commands of ``acp-proxy``, one module each."""
