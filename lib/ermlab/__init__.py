"""ermlab: regularised risk minimisation with structured outputs, for visual data.

Every method here minimises ``lambda * Omega(w) + R(w)``: see :mod:`ermlab.optimize` for the one
solver and :mod:`ermlab.structured` for the risks.
"""

__version__ = "0.1.0"
