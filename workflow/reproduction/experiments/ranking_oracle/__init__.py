"""The ranking oracle (thesis, section 3.2.2)."""
