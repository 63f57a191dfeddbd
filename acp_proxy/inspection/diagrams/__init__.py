"""Forms of a recording that other programs draw: Mermaid."""
