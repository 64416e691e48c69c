"""Figures: one file a figure, one style. Figures take data; only the commands read files."""
