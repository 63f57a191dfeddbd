"""Small programs that the tests start: agents, clients, and players of captures."""
