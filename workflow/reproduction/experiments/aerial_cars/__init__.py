"""Cars in aerial images (equivariant SVM, section 3.1)."""
