"""Pedestrian classification (equivariant SVM, section 3.2)."""
