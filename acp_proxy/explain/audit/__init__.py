"""What an agent did to a machine, and what a reviewer should look at."""
