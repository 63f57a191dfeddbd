"""Reports in a real browser: what a page shows, what it does, and what it must not do."""
