"""Programs that other processes start by name: the agents of tests and sweeps."""
