"""Partial annotations (cheap data, section 1.3.5)."""
