"""Kernels: how alike two things are, as matrices for kernel machines."""
