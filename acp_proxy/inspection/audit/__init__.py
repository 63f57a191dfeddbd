"""`inspect audit`: lists what an agent read, wrote, ran and fetched, and who permitted it."""
