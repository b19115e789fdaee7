"""Handwritten words, letter by letter and as chains (thesis, section 2.3.2)."""
