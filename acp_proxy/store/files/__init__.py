"""The files of recordings: opening databases, listing the directory, finding what a user names."""
