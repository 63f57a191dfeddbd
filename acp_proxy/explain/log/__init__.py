"""The timeline, frame by frame, and its diagrams."""
