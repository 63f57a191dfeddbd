"""Shows a recording frame by frame: as lines of a timeline, as JSON, or as a diagram."""
