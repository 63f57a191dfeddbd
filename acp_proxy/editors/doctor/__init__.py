"""What is installed, configured and running; the checks read, and change nothing."""
