"""Six trackers (cheap data, section 1.2)."""
