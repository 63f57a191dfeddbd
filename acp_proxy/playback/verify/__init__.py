"""The recorded client, played to a live agent: events in, commands out."""
