"""The text form of a recording, line by line; it knows neither files nor databases."""
