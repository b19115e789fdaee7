"""Functional scans as rows of voxels, shared by chapter 4."""
