"""Active learning (cheap data, section 1.4)."""
