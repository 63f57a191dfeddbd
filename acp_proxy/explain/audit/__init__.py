"""Lists what an agent did to a machine, with findings for a reviewer."""
