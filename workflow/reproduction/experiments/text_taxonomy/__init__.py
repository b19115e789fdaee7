"""Taxonomies of newsgroups (thesis, section 5.2.6)."""
