"""Functional scans prepared as rows of voxels, shared by the sections of chapter 4."""
