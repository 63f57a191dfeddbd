"""Output, styles and tables that all screens share."""
