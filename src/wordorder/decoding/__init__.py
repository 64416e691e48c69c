"""Beam search, and translation of corpora and of text."""
