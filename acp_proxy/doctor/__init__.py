"""Examines the installation, the recordings directory and the clients, and says what is wrong."""
