"""Ranking of web pages by grades of relevance (thesis, end of section 3.2.5)."""
