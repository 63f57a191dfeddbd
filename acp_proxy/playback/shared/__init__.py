"""What both sides of a replay share: recorded steps, comparison, divergences, pacing."""
