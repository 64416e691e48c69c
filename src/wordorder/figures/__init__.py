"""Figures: one file per figure, one style. Figures take data; only the commands read files."""
