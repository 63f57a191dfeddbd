"""All code that uses SQL: the schema, the indexer, readers, and the directory of recordings."""
