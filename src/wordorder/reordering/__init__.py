"""Reordering: the order of source words in the target language. Independent of models."""
