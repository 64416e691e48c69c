"""Scores with signatures, significance and tables."""
