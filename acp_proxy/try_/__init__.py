"""The client of ``acp-proxy try``, which talks to a recorded agent."""
