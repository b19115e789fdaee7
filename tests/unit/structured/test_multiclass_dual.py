import numpy as np
import pytest

from ermlab.structured._multiclass_dual import MultiClassDual
from ermlab.structured._multiclass_dual_numba import maximize_sample
from ermlab.structured.multiclass import MultiClassTask


@pytest.mark.parametrize("q", [0.0, 5e-324, 1e-320, 1e-310, 1e-300, 1e-200])
@pytest.mark.parametrize("s", [[1.0, 1.0, 1.0], [0.5, 2.0, 1.0]])
def test_tiny_quadratic_term_is_as_none(q, s):
    """The budget goes to the class of the largest s c, but for what others of the same size get."""
    c, s, C = np.array([1.0, 2.0, 0.5]), np.array(s), 0.25
    beta, values, order = np.full(3, np.nan), np.empty(3), np.empty(3, dtype=np.int64)
    maximize_sample(c, s, q, C, 3, beta, values, order)
    np.testing.assert_allclose(beta, [0.0, C * s[1], 0.0], atol=1e-12)


def test_features_whose_norm_overflows():
    X = np.array([[1.0, 1.0], [1e200, 0.0]])
    with pytest.raises(ValueError, match=r"sample 1 has features up to 1e\+200: expected smaller ones"):
        MultiClassDual(MultiClassTask(2, 2), X, np.array([0, 1]), "margin", 1.0)


@pytest.mark.parametrize("lam", [0.0, 5e-324, 1e308, np.inf])
def test_regularization_out_of_range(lam):
    with pytest.raises(ValueError, match="for 2 samples: expected a finite 1 / "):
        MultiClassDual(MultiClassTask(2, 2), np.eye(2), np.array([0, 1]), "margin", lam)
