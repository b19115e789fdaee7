"""Exactness of inference in small random fields (thesis, section 2.3.2)."""
