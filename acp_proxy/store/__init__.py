"""The only SQL: the schema, the indexer, readers, and the directory of recordings."""
