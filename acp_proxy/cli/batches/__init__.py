"""A command on many recordings: the batch, its worker and its screen."""
