"""Measures of a prediction, and the published claims they are held against."""
