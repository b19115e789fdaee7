"""Data sets: where they come from (:mod:`~ermlab.datasets.registry`), and one reader for each."""
