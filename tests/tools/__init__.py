"""Programs for developers: they generate pages, pictures and tables, or count code."""
