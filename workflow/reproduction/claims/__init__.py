"""Exhibits and published claims, compared with the results of a run."""
