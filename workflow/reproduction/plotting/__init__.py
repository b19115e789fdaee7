"""The shared style of all figures, and parts of pictures."""
