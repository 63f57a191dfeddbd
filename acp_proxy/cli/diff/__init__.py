"""The command `diff`, its screen and its reports for other programs."""
