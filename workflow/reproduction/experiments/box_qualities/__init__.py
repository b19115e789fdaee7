"""Exact search with other qualities and penalties of boxes (thesis, sections 5.1.2 to 5.1.4)."""
