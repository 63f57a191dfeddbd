"""Programs of developers: they write pages, pictures and tables anew, or count."""
