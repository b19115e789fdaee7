"""Figures: one small module for each family of exhibits, one shared style."""
