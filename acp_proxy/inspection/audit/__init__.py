"""`inspect audit`: what an agent read, wrote, ran and fetched, where, and by whose permission."""
