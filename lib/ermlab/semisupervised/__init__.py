"""Semi-supervised learning with a Laplacian regularizer on a graph of all samples (thesis, section 2.1).

The objective is ``J(f) = lambda Omega(f) + lambda_L <f, L f> + R(f)`` (thesis, eq. 2.5): the risk ``R`` is
that of the labeled samples, and the graph Laplacian ``L`` is that of all samples, labeled or not.
"""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
