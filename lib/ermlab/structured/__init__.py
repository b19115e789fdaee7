"""Structured output SVMs, and their relatives: transfer, invariance, joint kernel support estimation."""
