"""Features: what the methods see of images, scans and videos."""
