"""A recording as one HTML file that needs nothing else: facts, data and what shows them."""
