"""Comparisons of systems: statistics applied to the scores of translations."""
