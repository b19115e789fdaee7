"""Metrics and splits that scikit-learn does not have."""
