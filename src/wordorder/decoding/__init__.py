"""Beam search and the translation of corpora and of text."""
