"""Style of all figures, and functions that draw parts of pictures."""
