"""Values, text helpers and system calls that every room uses. This room imports no other room."""
