"""A recording as a single HTML file: facts, data, and the scripts that show them."""
