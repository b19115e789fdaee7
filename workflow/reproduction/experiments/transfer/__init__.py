"""Transfer between laboratories (cheap data, section 1.5)."""
