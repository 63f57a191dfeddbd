"""What is secret in the messages of a connection; pure, without files, clocks or SQL."""
