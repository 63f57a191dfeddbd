"""Whether a conversation keeps the rules of the protocol, and who broke them."""
