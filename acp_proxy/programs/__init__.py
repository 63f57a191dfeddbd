"""Programs that others start by name: agents for tests and sweeps."""
