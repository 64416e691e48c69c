"""Metrics of translations, with signatures."""
