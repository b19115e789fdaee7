"""Weisfeiler-Lehman subtree patterns of graphs with discrete labels (thesis, section 4.3.1)."""
