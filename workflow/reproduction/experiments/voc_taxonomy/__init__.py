"""Taxonomies of PASCAL VOC classes (thesis, section 5.2.6)."""
