"""Values, text helpers and system calls that every room uses. Imports no other room."""
