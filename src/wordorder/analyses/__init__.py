"""Analyses of trained models and their translations: one module each; docs/analyses.md explains them."""
