"""Rings in the plane (equivariant SVM, section 1.1)."""
