"""Covariances of trees (thesis, section 5.2.3)."""
