"""Data sets of the reproduction: one module per data set, with its reader and its simulator.

A reader ``read_<name>(folder)`` returns a data class, or raises a `DataError` that names the file. A
simulator ``simulate_<name>(folder, seed, size)`` writes files with the names and the layout of the real data;
the same ``seed`` (at least 0) and ``size`` (``"smoke"``, ``"demo"`` or ``"paper"``) give the same bytes.
``"paper"`` is as large as the real data unless the simulator says otherwise.
"""
