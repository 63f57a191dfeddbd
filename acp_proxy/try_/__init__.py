"""The client of ``acp-proxy try``: it talks to an agent that a recorder has started."""
