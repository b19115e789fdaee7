"""Tracking of cells by assignment, with learned costs (cheap-data chapter)."""
