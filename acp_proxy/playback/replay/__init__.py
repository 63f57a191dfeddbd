"""The recorded agent, played to a live client: events in, commands out."""
