"""ermlab: regularised risk minimisation with structured outputs, for visual data.

Every method here minimises ``lambda * Omega(w) + R(w)``: see :mod:`ermlab.optimize` for the one
solver, :mod:`ermlab.risk` for the risks and :mod:`ermlab.datasets` for the data.
"""

__version__ = "0.1.0"
