"""The command `check`, its screen and its reports for other programs."""
