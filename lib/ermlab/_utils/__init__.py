"""Internal helpers of all packages: validation, files, threads."""
