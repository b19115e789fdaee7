"""A user's own functional scan."""
