"""Regularisers beyond L1 and L2: the k-support norm, and Laplacian regularisation across two views."""
