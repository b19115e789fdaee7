"""Strategies of many detections (thesis, section 5.1.5)."""
