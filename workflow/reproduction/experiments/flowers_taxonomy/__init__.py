"""Taxonomies of Flowers 17 (thesis, section 5.2.6)."""
