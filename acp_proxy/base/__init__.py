"""Values, texts and system calls that every room uses; this room knows no other."""
