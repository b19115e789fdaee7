"""Level sets of regularizers, and the zeros of the minima on them (thesis, section 2.2)."""
