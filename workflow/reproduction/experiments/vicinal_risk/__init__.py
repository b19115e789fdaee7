"""The vicinal risk (equivariant SVM, appendix A)."""
