"""Typed models of the analyses that a study can ask for: ``analyses: {length: {edges: [20, 40, 60]}}``."""

from __future__ import annotations

from wordorder.config.base import Model


class Analyses(Model):
    """Each analysis that a study wants, with its settings; what is not named is not done."""
