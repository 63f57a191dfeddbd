"""What is different between two recordings; pure, over rows."""
